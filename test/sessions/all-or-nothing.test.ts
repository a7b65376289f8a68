import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { replacing } from "../support/replacing.ts";
import { expectAccepted, expectUnwritten, SIGNED_ROUTES } from "../support/signed-routes.ts";
import { World } from "../support/world.ts";

/** Passes the parser and fails when it runs, with all that the batch wrote before it still in the transaction. */
const FAILS = "INSERT INTO sites (id, name, created_at) SELECT id, NULL, 0 FROM sites";

describe.each(SIGNED_ROUTES)("the batch of $operation", (route) => {
  it.each([
    ["without an Idempotency-Key", {}],
    ["with one", { "idempotency-key": "key" }],
  ])("is rolled back whole when any one of its statements fails, %s", async (_, headers) => {
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
    const adds = "idempotency-key" in headers ? { ...route.adds, keys: 1 } : route.adds;
    await expectAccepted(world, { ...route, adds }, () => send(body));
  });
});
