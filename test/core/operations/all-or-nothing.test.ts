import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { replacing } from "../../support/replacing.ts";
import { expectAccepted, expectUnwritten, SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { World } from "../../support/world.ts";

/** SQL that the parser accepts, but that fails when it runs, after the batch's earlier writes. */
const FAILS = "INSERT INTO sites (id, name, created_at) SELECT id, NULL, 0 FROM sites";

describe.each(SIGNED_ROUTES)("the batch of $operation", (route) => {
  it.each([
    ["without an Idempotency-Key", {}],
    ["with one", { "idempotency-key": "key" }],
  ])("the batch of a call is rolled back whole when any one of its statements fails, %s", async (_, headers) => {
    let failing = -1;
    let length = 0;
    const batch = (statements: D1PreparedStatement[]) => {
      length = statements.length;
      return env.DB.batch(failing < 0 ? statements : statements.with(failing, env.DB.prepare(FAILS)));
    };
    const world = await World.create({ DB: replacing(env.DB, { batch }) });
    const send = async (body: unknown) =>
      world.send(route.operation, JSON.stringify(body), headers as Record<string, string>);
    const body = await route.acceptable(world);

    failing = 0;
    for (length = 1; failing < length; failing++) {
      const { status, envelope } = await expectUnwritten(world, () => send(body));
      expect({ failing, status, envelope }).toEqual({
        failing,
        status: 500,
        envelope: { code: -1, msg: "系统错误", data: "" },
      });
    }
    expect(length).toBeGreaterThan(2);

    failing = -1;
    await expectAccepted(world, route, () => send(body), "idempotency-key" in headers ? { keys: 1 } : {});
  });

  it.each(["lost", "late"])(
    "rows that were erased between a %s answer and the second try are not written again",
    async (kind) => {
      const plain = await World.create();
      const body = JSON.stringify(await route.acceptable(plain));
      const tables = ["messages", "participants"];
      const erase = async () => {
        await env.DB.batch([
          ...tables.map((table) => env.DB.prepare(`DELETE FROM ${table} WHERE site_id = ?`).bind(plain.siteId)),
          env.DB.prepare("DELETE FROM sessions WHERE site_id = ?").bind(plain.siteId),
          env.DB.prepare("DELETE FROM customers WHERE site_id = ?").bind(plain.siteId),
        ]);
      };
      let tries = 0;
      let first = async (): Promise<unknown> => undefined;
      const batch = async (statements: D1PreparedStatement[]) => {
        if (++tries > 1) return env.DB.batch(statements);
        if (kind === "lost") {
          await env.DB.batch(statements);
          await erase();
        } else {
          // Another try has the claim when this try arrives.
          first = () => env.DB.batch(statements);
        }
        throw new Error("Network connection lost.");
      };
      const answer = await plain.anotherIsolate({ DB: replacing(env.DB, { batch }) }).send(route.operation, body);
      expect([answer.status, tries]).toEqual([200, 2]);
      if (kind === "late") await erase();
      await first();
      const { nonces, ...rows } = await plain.stored();
      expect(nonces).toMatchObject([{ outcome: "accepted" }]);
      expect(Object.values(rows).flat()).toEqual([]);
    },
  );
});
