import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { newTokenText } from "../../../src/operators/access/token-text.ts";
import { newToken, useToken } from "../../support/new-token.ts";
import { NOW, World } from "../../support/world.ts";

/** A directory that can be switched off and on. */
function switchableD1() {
  const state = { isDown: false };
  const db = new Proxy(env.DB, {
    get(target, name) {
      if (state.isDown && (name === "prepare" || name === "batch")) {
        return () => {
          throw new Error("D1_ERROR: D1 DB is overloaded.");
        };
      }
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { state, db };
}

const readsOf = async (address: string) =>
  (await env.DB.prepare("SELECT details FROM audit_log WHERE action = 'root.read' AND address = ?").bind(address).all())
    .results.length;

const newestRow = () => env.DB.prepare("SELECT coalesce(max(id), 0) AS id FROM audit_log").first<number>("id");

const refusedAfter = async (row: number | null) =>
  (
    await env.DB.prepare("SELECT * FROM audit_log WHERE id > ? AND action = 'operator.refused' ORDER BY id")
      .bind(row)
      .all<Record<string, unknown>>()
  ).results;

describe("the audit row of refused tokens", () => {
  it.each([
    ["token_slip", { expiresAt: null }, "x"],
    ["token_expired", { expiresAt: NOW }, ""],
    ["admin_token_wrong", { deletedAt: NOW }, ""],
  ])("the audit row of a refused token has the reason %s and names nobody", async (reason, change, slip) => {
    const [world, { token }] = [await World.create(), await newToken(change)];
    const before = await newestRow();
    await useToken(world, `${token}${slip}`, "GET", "/admin/sites", undefined, { "cf-connecting-ip": "203.0.113.9" });
    expect(await refusedAfter(before)).toMatchObject([
      {
        actor: "admin-api",
        at: NOW,
        site_id: null,
        subject: "",
        details: JSON.stringify({ reason, count: 1 }),
        who_kind: null,
        address: "203.0.113.0/24",
      },
    ]);
  });

  it("refused tokens leave one audit row a minute, which counts those since the row before", async () => {
    const world = await World.create();
    const before = await newestRow();
    for (const second of [0, 1, 59, 60]) {
      world.clock.now = NOW + second;
      await useToken(world, "wrong", "GET", "/admin/sites");
    }
    const rows = (await refusedAfter(before)).map(({ at, details }) => [at, JSON.parse(String(details)).count]);
    expect(rows).toEqual([
      [NOW, 1],
      [NOW + 60, 3],
    ]);
  });
});

describe("audit rows while the directory is down or a limit is reached", () => {
  it("the audit row of the root's reads is written later in an hour in which the directory was down at first", async () => {
    const { state, db } = switchableD1();
    const world = await World.create({ DB: db });
    const headers = { "cf-connecting-ip": "203.0.113.9" };
    state.isDown = true;
    await useToken(world, env.ADMIN_TOKEN, "GET", "/admin/sites", undefined, headers);
    state.isDown = false;
    world.clock.now += 60;
    expect((await useToken(world, env.ADMIN_TOKEN, "GET", "/admin/sites", undefined, headers)).status).toBe(200);
    expect(await readsOf("203.0.113.0/24")).toBe(1);
  });

  it("the audit row of refused tokens counts those that came while the directory was down", async () => {
    const { state, db } = switchableD1();
    const world = await World.create({ DB: db });
    const before = await env.DB.prepare("SELECT coalesce(max(id), 0) AS id FROM audit_log").first<number>("id");
    state.isDown = true;
    for (let n = 0; n < 5; n++) await useToken(world, "wrong", "GET", "/admin/sites");
    state.isDown = false;
    world.clock.now += 61;
    await useToken(world, "wrong", "GET", "/admin/sites");
    const rows = await env.DB.prepare("SELECT details FROM audit_log WHERE id > ? AND action = 'operator.refused'")
      .bind(before)
      .all<{ details: string }>();
    const counts = rows.results.map(({ details }) => (JSON.parse(details) as { count: number }).count);
    expect(counts.reduce((sum, n) => sum + n, 0)).toBe(6);
  });

  it("the audit row of refused tokens counts made-up tokens from an address over the limit", async () => {
    const world = await World.create({
      CLIENT_LIMIT: { limit: async () => ({ success: false }) } as unknown as RateLimit,
    });
    const before = await env.DB.prepare("SELECT coalesce(max(id), 0) AS id FROM audit_log").first<number>("id");
    for (let n = 0; n < 6; n++) await useToken(world, newTokenText(systemRuntime, "program"), "GET", "/admin/sites");
    world.clock.now += 61;
    await useToken(world, newTokenText(systemRuntime, "program"), "GET", "/admin/sites");
    const rows = await env.DB.prepare("SELECT details FROM audit_log WHERE id > ? AND action = 'operator.refused'")
      .bind(before)
      .all<{ details: string }>();
    const counts = rows.results.map(({ details }) => (JSON.parse(details) as { count: number }).count);
    expect(counts.reduce((sum, n) => sum + n, 0)).toBe(7);
  });
});
