import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { nonceKey } from "../../../src/core/signed/kv-nonces.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { forgeRecord } from "../../support/forge-record.ts";
import { databaseOf } from "../../support/homes.ts";
import { Isolate } from "../../support/isolate.ts";
import { readStored } from "../../support/read-store.ts";
import { expectTokenInvalid, expectUnwritten, INVALID_PARAMETERS } from "../../support/signed-routes.ts";
import { ADMIN_TOKEN, hmac, NOW, World } from "../../support/world.ts";

/**
 * Tests the claims of the threat model (docs/threat-model.md) that no other test shows: what an attacker cannot do, and what an attacker
 * can do.
 */

async function rotate(world: World, overlap_seconds: number): Promise<string> {
  const answer = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds });
  expect(answer.status).toBe(200);
  return (await answer.json<{ secret: string }>()).secret;
}

const withSecret = (world: World, secret: string) => Object.assign(world.anotherIsolate(), { secret });

describe("a request that is held back on its way", () => {
  it("a held-back request can be sent on once without its key, and the caller's retry opens a second session", async () => {
    const world = await World.create();
    const body = JSON.stringify(world.createBody());
    const signed = { "x-chat-signature": await hmac(world.secret, body) };
    expect((await world.sendRaw("create_gd", body, signed)).status).toBe(200);
    await expectTokenInvalid(world, () => world.sendRaw("create_gd", body, signed));
    const retry = await world.create({}, { "idempotency-key": "order-7001" });
    expect([retry.status, retry.headers.has("idempotency-replayed")]).toEqual([200, false]);
    expect((await world.stored()).sessions).toHaveLength(2);
  });

  it("a held-back request does nothing at the other call, which has other fields", async () => {
    const world = await World.create();
    const body = JSON.stringify(world.createBody());
    const { envelope } = await expectUnwritten(world, () => world.send("add_kf", body));
    expect(envelope).toEqual(INVALID_PARAMETERS);
  });
});

describe("a request without a signature", () => {
  it("a request without a signature learns that an appid is in a closed home, and nothing about other homes", async () => {
    const [closed, open] = [await World.create({}, "apac"), await World.create()];
    const isolate = new Isolate(closedHomeVars("apac"));
    const status = async (appid: string) => (await isolate.sendRaw("create_gd", JSON.stringify({ appid }))).status;
    expect(await status(closed.appid)).toBe(503);
    for (const appid of [open.appid, "no-such-app"]) expect(await status(appid)).toBe(401);
    expect((await closed.stored()).nonces).toEqual([]);
  });
});

describe("a secret of one kind", () => {
  it("neither an app's secret nor the master key is an admin token", async () => {
    const world = await World.create();
    for (const token of [world.secret, env.MASTER_KEY]) {
      const headers = { authorization: `Bearer ${token}` };
      expect((await world.fetch(new Request("http://worker/admin/sites", { headers }))).status).toBe(401);
      expect((await new ConsoleVisitor(world).signIn(token)).status).toBe(401);
    }
  });

  it("neither the admin token nor the master key signs a call", async () => {
    const world = await World.create();
    for (const secret of [ADMIN_TOKEN, env.MASTER_KEY]) {
      const impostor = withSecret(world, secret);
      await expectTokenInvalid(world, () => impostor.create());
    }
  });
});

describe("another tenant's app", () => {
  it("another tenant's app opens no session with this site's agents", async () => {
    const [victim, tenant] = [await World.create(), await World.create()];
    expect((await victim.admin("POST", `/admin/sites/${victim.siteId}/agents`, { id: 77, name: "Ana" })).status).toBe(
      201,
    );
    const answer = await tenant.create({ kefu_id: [1, 77] });
    expect([answer.status, answer.headers.get("x-error-detail")]).toEqual([400, "kefu_id: 77 unknown"]);
  });

  it("another tenant's app cannot see in its chat_ids the sessions that other sites open", async () => {
    const [victim, tenant] = [await World.create(), await World.create()];
    const before = await tenant.chatId();
    for (let i = 0; i < 3; i++) await victim.chatId();
    expect((await tenant.chatId()) - before).toBe(1);
  });
});

describe("the admin token", () => {
  it("the admin token removes no entry of the audit log and changes none", async () => {
    const world = await World.create();
    const { audit } = await world.operated();
    expect(audit.length).toBeGreaterThan(0);
    for (const method of ["DELETE", "PATCH", "PUT", "POST"]) {
      for (const path of ["/admin/audit", `/admin/audit/${audit[0]?.id}`]) {
        expect((await world.admin(method, path, {})).status).toBeOneOf([404, 405]);
      }
    }
    expect((await world.operated()).audit).toEqual(audit);
  });
});

describe("whoever reads KV", () => {
  it("a reader of KV finds sealed records and digests: no secret, no ranstr, nothing of a customer", async () => {
    const world = await World.create();
    const body = world.createBody({ sbs: "sbs-Zq81Kd", sbs_mc: "Ottoline Quackenbush", content: "Xylophone content" });
    expect((await world.send("create_gd", body, { "idempotency-key": "key-Vw5Rt" })).status).toBe(200);
    let all = "";
    for (const kv of [env.CREDENTIALS, env.NONCES]) {
      const { keys } = await kv.list();
      expect(keys.length).toBeGreaterThan(0);
      for (const { name } of keys) all += `${name} ${await kv.get(name)}\n`;
    }
    expect(all).toContain(`app:${world.appid}`);
    expect(all).toContain(await nonceKey(world.appid, String(body.ranstr)));
    for (const word of [world.secret, body.ranstr, body.sbs, body.sbs_mc, body.content, body.ip, "key-Vw5Rt"]) {
      expect(all).not.toContain(word);
    }
  });
});

describe("whoever writes to KV", () => {
  it("a writer to KV can block only a request whose appid and ranstr are known beforehand", async () => {
    const world = await World.create({ REPLAY_LOOK_MS: "1000" });
    await env.NONCES.put(await nonceKey(world.appid, "guessed"), "1");
    await expectTokenInvalid(world, () => world.create({ ranstr: "guessed" }));
    expect((await world.create({ ranstr: "not guessed" })).status).toBe(200);
  });

  it("a writer to KV cannot revoke an app or bring one back", async () => {
    const world = await World.create();
    await forgeRecord(world, { revokedAt: NOW - 1 });
    expect((await world.anotherIsolate().create()).status).toBe(200);
    expect((await world.admin("DELETE", `/admin/apps/${world.appid}`)).status).toBe(204);
    await forgeRecord(world, { revokedAt: null });
    await expectTokenInvalid(world, () => world.anotherIsolate().create());
  });

  it("a writer to KV cannot extend an overlap of two secrets", async () => {
    const world = await World.create();
    await rotate(world, 100);
    await forgeRecord(world, { previousExpiresAt: NOW + 10_000 });
    world.clock.now += 99;
    expect((await world.anotherIsolate().create()).status).toBe(200);
    world.clock.now += 1;
    await expectTokenInvalid(world, () => world.anotherIsolate().create());
  });

  it("a writer to KV cannot move an app's requests into another home, because the gate there refuses them", async () => {
    for (const [home, other] of [
      ["main", "apac"],
      ["apac", "main"],
      ["apac", "nowhere"],
    ] as const) {
      const world = await World.create({}, home);
      await forgeRecord(world, { home: other });
      expect([home, other, (await world.anotherIsolate().create()).status]).toEqual([home, other, 200]);
      expect((await world.stored()).sessions).toHaveLength(1);
      const { sessions } = await readStored(world, databaseOf(other === "nowhere" ? "main" : other));
      expect(sessions).toEqual([]);
    }
  });
});

describe("a copy of all tables", () => {
  async function dump(): Promise<string> {
    const { results } = await env.DB.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all<{
      name: string;
    }>();
    const tables = results.map(({ name }) => name).filter((name) => !/^(_cf_|sqlite_|d1_)/.test(name));
    expect(tables.length).toBeGreaterThan(10);
    const rows = await Promise.all(tables.map((name) => env.DB.prepare(`SELECT * FROM "${name}"`).all()));
    return JSON.stringify(rows.map((table) => table.results));
  }

  it("a copy of all tables holds no app's secret, no admin token, no master key and no cookie", async () => {
    const world = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    const site = `/console/sites/${world.siteId}`;
    await visitor.submit(await visitor.open(`${site}/agents`), "Disable Agent 3");
    const rotated = await rotate(world, 3_600);
    const cookie = visitor.cookies.get("__Host-console") ?? "";
    expect(cookie).toMatch(/^[\w-]{43}\.[\w-]{43}$/);
    const copy = await dump();
    expect(copy).toContain(world.appid);
    for (const secret of [world.secret, rotated, ADMIN_TOKEN, env.MASTER_KEY, ...cookie.split(".")]) {
      expect(copy).not.toContain(secret);
    }
  });

  it("a copy of all tables holds customers, messages, titles and ranstr as they were sent", async () => {
    const world = await World.create();
    const body = world.createBody({ sbs: "sbs-Zq81Kd", sbs_mc: "Ottoline Quackenbush", content: "Xylophone content" });
    expect((await world.send("create_gd", { ...body, title: "Quixotic title" })).status).toBe(200);
    const copy = await dump();
    for (const word of [body.sbs, body.sbs_mc, body.content, body.ip, "Quixotic title", body.ranstr]) {
      expect(copy).toContain(word);
    }
  });
});
