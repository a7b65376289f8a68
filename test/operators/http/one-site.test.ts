import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { call } from "../../support/admin-calls.ts";
import { newToken, useToken } from "../../support/new-token.ts";
import { replacing } from "../../support/replacing.ts";
import { World } from "../../support/world.ts";

describe("a token of one site", () => {
  it("a token of one site sees no names of that site's other tokens in the audit log", async () => {
    const ownWorld = await World.create();
    await call(ownWorld, "POST", "/admin/tokens", {
      name: "Secret project",
      role: "operator",
      site_id: ownWorld.siteId,
    });
    const { token } = await newToken({ siteId: ownWorld.siteId, role: "viewer" });
    const log = await useToken(ownWorld, token, "GET", "/admin/audit");
    expect((await useToken(ownWorld, token, "GET", "/admin/tokens")).status).toBe(403);
    expect(JSON.stringify(log.body)).not.toContain("Secret project");
  });
});

describe("a token of one site on odd paths", () => {
  it("a token of one site learns nothing of another site through odd paths", async () => {
    const ownWorld = await World.create();
    const other = await World.create();
    const { token } = await newToken({ siteId: ownWorld.siteId, role: "operator" });
    const n = other.siteId;
    const odd = [
      `${n}`,
      `0${n}`,
      `${n}e0`,
      `${n}.0`,
      `%20${n}`,
      `+${n}`,
      `0x${n.toString(16)}`,
      `%3${String(n)[0]}${String(n).slice(1)}`,
    ];
    const worse = [
      "1e400",
      "-1",
      "1e300",
      "%00",
      "%ED%A0%80",
      "NaN",
      "9007199254740993",
      `${ownWorld.siteId}%00`,
      `${ownWorld.siteId}e0`,
    ];
    const bodies = new Set<string>();
    for (const each of [...odd, ...worse, "999999"]) {
      for (const method of ["GET", "POST", "HEAD"] as const) {
        if (method === "HEAD") {
          const head = await ownWorld.fetch(
            new Request(`http://worker/admin/sites/${each}/apps`, {
              method,
              headers: { authorization: `Bearer ${token}` },
            }),
          );
          expect([each, method, head.status]).toEqual([each, method, 404]);
          continue;
        }
        const answer = await useToken(
          ownWorld,
          token,
          method,
          `/admin/sites/${each}/apps`,
          method === "POST" ? { name: "x" } : undefined,
        );
        bodies.add(JSON.stringify(answer));
      }
    }
    expect([...bodies]).toHaveLength(1);
    const apps = new Set<string>();
    for (const each of [
      other.appid,
      "nosuch",
      "%00",
      "%ED%A0%80",
      "a%2Fb",
      other.appid.toUpperCase(),
      `${other.appid}%00`,
    ]) {
      apps.add(JSON.stringify(await useToken(ownWorld, token, "POST", `/admin/apps/${each}/rotate`, {})));
      apps.add(JSON.stringify(await useToken(ownWorld, token, "DELETE", `/admin/apps/${each}`)));
    }
    expect([...apps]).toHaveLength(1);
  });
});

it("a token of one site gets no secret of an app that moves to another site during the call", async () => {
  const ownWorld = await World.create();
  const other = await World.create();
  const { token } = await newToken({ siteId: ownWorld.siteId, role: "operator" });
  const routeTo = (siteId: number) =>
    env.DB.prepare("UPDATE app_routes SET site_id = ? WHERE appid = ?").bind(siteId, other.appid).run();
  // The appid belongs to this site and has no app. It is then released, and the other site gets it.
  await routeTo(ownWorld.siteId);
  const after = (statement: D1PreparedStatement): D1PreparedStatement => {
    const late =
      (method: "raw" | "all" | "first" | "run") =>
      async (...args: unknown[]) => {
        const call = statement[method] as (...args: unknown[]) => Promise<unknown>;
        const result = await call.apply(statement, args);
        await routeTo(other.siteId);
        return result;
      };
    return replacing(statement, {
      bind: (...values: unknown[]) => after(statement.bind(...values)),
      raw: late("raw"),
      all: late("all"),
      first: late("first"),
      run: late("run"),
    });
  };
  const db = replacing(env.DB, {
    prepare: (sql: string) => {
      const statement = env.DB.prepare(sql);
      return /from "admin_tokens"/.test(sql) ? after(statement) : statement;
    },
  });
  const answer = await ownWorld.anotherIsolate({ DB: db }).fetch(
    new Request(`http://worker/admin/apps/${other.appid}/rotate`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    }),
  );
  expect([answer.status, await answer.json()]).toEqual([404, expect.anything()]);
});
