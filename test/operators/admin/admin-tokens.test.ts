import { env } from "cloudflare:workers";
import { crc32 } from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { newTokenText } from "../../../src/operators/access/token-text.ts";
import { call, problem, read } from "../../support/admin-calls.ts";
import { downDb } from "../../support/down-db.ts";
import type { ReplacedBindings } from "../../support/isolate.ts";
import { newToken } from "../../support/new-token.ts";
import { ADMIN_TOKEN, NOW, World } from "../../support/world.ts";

afterEach(() => void vi.restoreAllMocks());

const DAY = 86_400;

interface MadeToken {
  id: string;
  token: string;
}

/** Makes a token with the root token. */
async function makeToken(world: World, body: Record<string, unknown> = {}): Promise<MadeToken> {
  const answer = await call(world, "POST", "/admin/tokens", { name: "Nightly", role: "viewer", ...body });
  expect(answer.status).toBe(201);
  return answer.body as MadeToken;
}

/** Calls the admin API with a token. */
const use = async (world: World, token: string, path = "/admin/sites?limit=1", headers: Record<string, string> = {}) =>
  read(
    await world.fetch(
      new Request(`http://worker${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } }),
    ),
  );

const rowOf = (id: string) =>
  env.DB.prepare("SELECT * FROM admin_tokens WHERE id = ?").bind(id).first<Record<string, unknown>>();

const auditOf = async (subject: string) => {
  const rows = env.DB.prepare("SELECT * FROM audit_log WHERE subject = ? ORDER BY id").bind(subject);
  return (await rows.all<Record<string, unknown>>()).results;
};

describe("POST /admin/tokens", () => {
  it("POST /admin/tokens shows the token once, stores only its hash, and writes an audit row; GET /admin/tokens does not show it", async () => {
    const world = await World.create();
    const { status, body } = await call(world, "POST", "/admin/tokens", { name: "Nightly", role: "operator" });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^tok_[0-9a-f]{32}$/),
        name: "Nightly",
        role: "operator",
        site_id: null,
        token: expect.stringMatching(/^ast_[0-9A-Za-z]{49}$/),
        expires_at: null,
      },
    ]);
    const { id, token } = body as MadeToken;
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
    expect(await rowOf(id)).toEqual({
      id,
      hash: new Uint8Array(digest).toHex(),
      name: "Nightly",
      role: "operator",
      site_id: null,
      created_at: NOW,
      expires_at: null,
      last_used_at: null,
      deleted_at: null,
    });
    const entries = await auditOf(id);
    expect(entries).toMatchObject([
      {
        action: "token.created",
        who_kind: "root",
        details: '{"name":"Nightly","role":"operator","site_id":null,"expires_at":null}',
      },
    ]);
    const details = await env.DB.prepare("SELECT json_group_array(details) AS all_details FROM audit_log").first(
      "all_details",
    );
    expect(details).not.toContain(token);
    const list = await call(world, "GET", "/admin/tokens?limit=100");
    expect(JSON.stringify(list.body)).toContain(id);
    expect(JSON.stringify(list.body)).not.toContain(token);
  });

  it("a new token ends with the CRC32 of the characters before, in base62", async () => {
    const { token } = await makeToken(await World.create());
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const check = [...token.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    expect(check).toBe(crc32(token.slice(0, -6)));
  });

  it("a new token and its audit row have its site and its end", async () => {
    const world = await World.create();
    const { id } = await makeToken(world, { role: "operator", site_id: world.siteId, expires_in_days: 90 });
    expect(await rowOf(id)).toMatchObject({ site_id: world.siteId, expires_at: NOW + 90 * DAY });
    const details = { name: "Nightly", role: "operator", site_id: world.siteId, expires_at: NOW + 90 * DAY };
    expect(await auditOf(id)).toMatchObject([{ action: "token.created", details: JSON.stringify(details) }]);
  });

  const WRONG: [change: object, field: string, message: string][] = [
    [{ role: "owner", site_id: 1 }, "role", "must be viewer or operator for a token of one site"],
    [{ role: "metrics", site_id: 1 }, "role", "must be viewer or operator for a token of one site"],
    [{ site_id: 987_654_321 }, "site_id", "must be a site's id"],
    [{ role: "root" }, "role", "must be metrics or viewer or operator or owner"],
    [{ expires_in_days: 0 }, "expires_in_days", "must be an integer from 1 to 3650"],
    [{ expires_in_days: 3_651 }, "expires_in_days", "must be an integer from 1 to 3650"],
    [{ token: "ast_mine" }, "token", "is not a field of this call"],
  ];

  /** Each name looks like a name that the audit log uses for others, or is a token in the wrong field. ␣ stands for a blank. */
  const NAMES_OF_OTHERS = `root Root ＲＯＯＴ r␣o␣o␣t ro\u200bot root: «root» rооt r00t ṙööt ⓡⓞⓞⓣ гoοτ
    worker WORKER\u2060 vvorker шоrкеr w-o-r-k-e-r ADMIN_TOKEN admin␣token Аdmin.Token adrnin-token
    ada@example.com ada＠example.com ada␣@␣example.com ada\u200b﹫example *@example.com tok_${"0f".repeat(16)} per_${"0f".repeat(16)}
    per-${"0f".repeat(16)} (PER_${"3C".repeat(16)}) tok_${"of".repeat(16)} рer_${"4с".repeat(16)} tоk_${"l7".repeat(16)}. ast_mine
    asp_${"0f".repeat(24)}1`;
  const LOOKS_LIKE_ANOTHER =
    "must not look like root, ADMIN_TOKEN, worker, an e-mail address, a token, or the id of a token or a person";
  for (const name of NAMES_OF_OTHERS.split(/\s+/))
    WRONG.push([{ name: name.replaceAll("␣", " ") }, "name", LOOKS_LIKE_ANOTHER]);

  it.each(["Root causes", "rooter", "root 2", "Worker pool", "@deploy", "tok_1", "夜间导出", "🤖"])(
    "POST /admin/tokens accepts the name %j",
    async (name) => {
      const { id } = await makeToken(await World.create(), { name });
      expect(await rowOf(id)).toMatchObject({ name });
    },
  );

  it("POST /admin/tokens refuses a wrong body and stores nothing", async () => {
    const world = await World.create();
    const count = () => env.DB.prepare("SELECT count(*) AS count FROM admin_tokens").first("count");
    const before = await count();
    for (const [change, field, message] of WRONG) {
      const { status, body } = await call(world, "POST", "/admin/tokens", { name: "N", role: "viewer", ...change });
      expect([change, { status, body }]).toEqual([change, problem(400, "Invalid input", [{ field, message }])]);
    }
    expect(await count()).toBe(before);
  });
});

describe("a token", () => {
  it("an old token keeps working when its name is no longer allowed for new tokens", async () => {
    const world = await World.create();
    const { token } = await newToken({ name: "root", role: "viewer" });
    expect((await use(world, token)).status).toBe(200);
  });

  it("the audit log names the token that made a change", async () => {
    const world = await World.create();
    const { id, token } = await makeToken(world, { role: "operator", name: "Deploy bot" });
    const { status } = await read(
      await world.fetch(
        new Request(`http://worker/admin/sites/${world.siteId}`, {
          method: "PATCH",
          headers: {
            authorization: `Bearer ${token}`,
            "content-type": "application/json",
            "cf-connecting-ip": "2001:db8:7:8::1",
          },
          body: '{"name":"By the bot"}',
        }),
      ),
    );
    expect(status).toBe(200);
    const row = await env.DB.prepare("SELECT * FROM audit_log WHERE site_id = ? AND action = 'site.renamed'")
      .bind(world.siteId)
      .first();
    expect(row).toMatchObject({
      actor: "admin-api",
      who_kind: "token",
      who_id: id,
      who_name: "Deploy bot",
      address: "2001:db8:7::/48",
    });
  });

  it("a deleted token is refused from the next call on, in every isolate", async () => {
    const world = await World.create();
    const { id, token } = await makeToken(world);
    const other = world.anotherIsolate();
    for (const isolate of [world, other]) expect((await use(isolate, token)).status).toBe(200);
    expect((await call(world, "DELETE", `/admin/tokens/${id}`)).status).toBe(204);
    for (const isolate of [world, other]) expect(await use(isolate, token)).toMatchObject(problem(401, "Unauthorized"));
    expect((await auditOf(id)).map(({ action }) => action)).toEqual(["token.created", "token.deleted"]);
  });

  it("a deleted token stays deleted: a second DELETE /admin/tokens/:token_id is 404, and a late retry of its creation changes nothing", async () => {
    const world = await World.create();
    const { id } = await makeToken(world);
    await call(world, "DELETE", `/admin/tokens/${id}`);
    expect(await call(world, "DELETE", `/admin/tokens/${id}`)).toMatchObject(problem(404, "Not found"));
    expect((await auditOf(id)).map(({ action }) => action)).toEqual(["token.created", "token.deleted"]);
    expect(await rowOf(id)).toMatchObject({ deleted_at: NOW });
    const list = await call(world, "GET", "/admin/tokens?limit=100");
    expect(JSON.stringify(list.body)).not.toContain(id);
  });

  it("an expired token is 401, and the answer says that it has expired", async () => {
    const world = await World.create();
    const { token } = await makeToken(world, { expires_in_days: 1 });
    world.clock.now = NOW + DAY - 1;
    expect((await use(world, token)).status).toBe(200);
    world.clock.now = NOW + DAY;
    expect(await use(world, token)).toMatchObject({ status: 401, body: { detail: "The token has expired." } });
  });

  it.each([
    ["with a wrong character", (token: string) => token.slice(0, 9) + (token[9] === "a" ? "b" : "a") + token.slice(10)],
    ["cut off at its end", (token: string) => token.slice(0, -1)],
    ["with one character more", (token: string) => `${token}x`],
    ["with two characters exchanged", (token: string) => token.slice(0, -2) + token.slice(-1) + token.slice(-2, -1)],
  ])("a token %s gets an answer about the typing error, without a read of the directory", async (_, slip) => {
    const world = await World.create();
    // The two last characters differ, so that exchanging them changes something.
    const { token } = await makeToken(world);
    const wrongToken = slip(token);
    if (wrongToken === token) return;
    const isolate = world.anotherIsolate({ DB: downDb(env.DB) });
    const { status, body } = await use(isolate, wrongToken);
    expect([status, (body as { detail: string }).detail]).toEqual([401, expect.stringContaining("has a slip")]);
  });

  it("a token that was never made gets the same 401 as any wrong token", async () => {
    const world = await World.create();
    const { id, token } = await newToken();
    await env.DB.prepare("DELETE FROM admin_tokens WHERE id = ?").bind(id).run();
    const { status, body } = await use(world, token);
    expect([status, body]).toEqual([401, (await use(world, "wrong")).body]);
  });

  it("a token stores the hour of its last use, with one write per hour", async () => {
    const world = await World.create();
    const { id, token } = await makeToken(world);
    const hour = NOW - (NOW % 3_600);
    await use(world, token);
    expect(await rowOf(id)).toMatchObject({ last_used_at: hour });
    world.clock.now = hour + 3_599;
    await env.DB.prepare("UPDATE admin_tokens SET name = 'Seen' WHERE id = ?").bind(id).run();
    await use(world, token);
    expect(await rowOf(id)).toMatchObject({ last_used_at: hour });
    world.clock.now = hour + 3_600;
    await use(world, token);
    expect(await rowOf(id)).toMatchObject({ last_used_at: hour + 3_600 });
  });

  it("the use of one token does not change the last use of another", async () => {
    const world = await World.create();
    const [usedToken, unusedToken] = [await makeToken(world), await makeToken(world)];
    await use(world, usedToken.token);
    expect(await rowOf(unusedToken.id)).toMatchObject({ last_used_at: null });
  });

  it("a token in a cookie or in the query is 401", async () => {
    const world = await World.create();
    const { token } = await makeToken(world);
    const headers = { cookie: `token=${token}; __Host-console=${token}` };
    expect((await world.fetch(new Request(`http://worker/admin/sites?token=${token}`, { headers }))).status).toBe(401);
  });

  it("a token of the API does not sign in to the console, and the page says that it is such a token", async () => {
    const world = await World.create();
    const { token } = await makeToken(world, { role: "owner" });
    const answer = await world.fetch(
      new Request("https://worker/console/sign-in", {
        method: "POST",
        headers: { origin: "https://worker", "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ token }),
      }),
    );
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []]);
    expect(await answer.text()).toContain("This is a token for programs. It opens the admin API, not the console.");
  });
});

describe("the root token", () => {
  it("reads with the root token leave one audit row per hour and network", async () => {
    const world = await World.create();
    const network = `2001:db8:${(world.siteId % 65_536).toString(16)}::`;
    const reads = async (address: string, isolate = world) => {
      await use(isolate, ADMIN_TOKEN, undefined, { "cf-connecting-ip": address });
      const rows = env.DB.prepare("SELECT * FROM audit_log WHERE action = 'root.read' AND address LIKE ? ORDER BY id");
      return (await rows.bind(`${network}%`).all<Record<string, unknown>>()).results;
    };
    expect(await reads(`${network}1`)).toMatchObject([
      { at: NOW, actor: "admin-api", who_kind: "root", site_id: null },
    ]);
    expect(await reads(`${network}2`)).toHaveLength(1);
    expect(await reads(`${network}1`, world.anotherIsolate())).toHaveLength(1);
    world.clock.now = NOW - (NOW % 3_600) + 3_599;
    expect(await reads(`${network}1`)).toHaveLength(1);
    world.clock.now += 1;
    expect(await reads(`${network}1`)).toHaveLength(2);
    expect(await reads("192.0.2.1")).toHaveLength(2);
  });

  it("reads with the root token work when their audit row cannot be written, and the log says so", async () => {
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    const world = await World.create({ DB: downDb(env.DB) });
    expect((await use(world, ADMIN_TOKEN, "/admin/audit")).status).toBe(200);
    expect(warn.mock.calls.join()).toContain("a row of the audit log was not written");
  });
});

describe("a token while the directory is down", () => {
  const DOWN: ReplacedBindings = { DB: downDb(env.DB) };
  /** A call that homes answer without the directory. */
  const AUDIT = "/admin/audit";

  /** An isolate whose directory can be switched off. */
  async function switchable() {
    let isDown = false;
    const db = new Proxy(env.DB, {
      get: (target, name) => {
        const value = Reflect.get(isDown ? (DOWN.DB as D1Database) : target, name) as unknown;
        return typeof value === "function" ? value.bind(isDown ? DOWN.DB : target) : value;
      },
    });
    const world = await World.create({ DB: db });
    const down = (to: boolean) => {
      isDown = to;
    };
    return { world, down };
  }

  it("a token works for five minutes after its last check while the directory is down", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    vi.spyOn(console, "error").mockReturnValue();
    const { world, down } = await switchable();
    const { token } = await makeToken(world);
    expect((await use(world, token, AUDIT)).status).toBe(200);
    down(true);
    world.clock.now = NOW + 299;
    expect(await use(world, token, AUDIT)).toMatchObject({ status: 200, body: { homes_down: ["main"] } });
    world.clock.now = NOW + 300;
    expect((await use(world, token, AUDIT)).status).toBe(503);
  });

  it("a token expires on time while the directory is down", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    vi.spyOn(console, "error").mockReturnValue();
    const { world, down } = await switchable();
    const { token } = await makeToken(world, { expires_in_days: 1 });
    world.clock.now = NOW + DAY - 1;
    expect((await use(world, token, AUDIT)).status).toBe(200);
    down(true);
    expect((await use(world, token, AUDIT)).status).toBe(200);
    world.clock.now = NOW + DAY;
    expect((await use(world, token, AUDIT)).status).toBe(503);
  });

  it("a token keeps the limits of its role and its site while the directory is down", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    vi.spyOn(console, "error").mockReturnValue();
    const { world, down } = await switchable();
    const { token } = await makeToken(world, { site_id: world.siteId });
    expect((await use(world, token)).status).toBe(200);
    down(true);
    expect((await use(world, token, "/admin/homes")).status).toBe(403);
    expect((await use(world, token, `/admin/sites/${world.siteId + 1}/apps`)).status).toBe(404);
    const rotate = new Request(`http://worker/admin/apps/${world.appid}/rotate`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    expect((await world.fetch(rotate)).status).toBe(503);
  });

  it("a token that the isolate does not know is 503 while the directory is down, and the root token works", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    vi.spyOn(console, "warn").mockReturnValue();
    const world = await World.create();
    const { token } = await makeToken(world);
    const isolate = world.anotherIsolate(DOWN);
    expect((await use(isolate, token, AUDIT)).status).toBe(503);
    expect((await use(isolate, ADMIN_TOKEN, AUDIT)).status).toBe(200);
  });

  it("a token that was found deleted stays refused when the directory fails afterwards", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const { world, down } = await switchable();
    const { id, token } = await makeToken(world);
    await use(world, token, AUDIT);
    await call(world, "DELETE", `/admin/tokens/${id}`);
    expect((await use(world, token, AUDIT)).status).toBe(401);
    down(true);
    expect((await use(world, token, AUDIT)).status).toBe(503);
  });
});

describe("a caller who tries tokens", () => {
  const twoTries = () => {
    let triesLeft = 2;
    return { CLIENT_LIMIT: { limit: async () => ({ success: triesLeft-- > 0 }) } as unknown as RateLimit };
  };
  const from = { "cf-connecting-ip": "192.0.2.7" };

  it("wrong tokens over the limit of an address are 429, and a valid token from that address works in any isolate", async () => {
    const world = await World.create(twoTries());
    const { token } = await makeToken(world);
    const { token: cold } = await makeToken(world);
    expect((await use(world, token, undefined, from)).status).toBe(200);
    const { id, token: unknownToken } = await newToken();
    await env.DB.prepare("DELETE FROM admin_tokens WHERE id = ?").bind(id).run();
    const statuses = [];
    for (let time = 0; time < 3; time++) statuses.push((await use(world, unknownToken, undefined, from)).status);
    expect(statuses).toEqual([401, 401, 429]);
    const reads = vi.spyOn(env.DB, "prepare");
    const since = Date.now();
    const others = await Promise.all(
      Array.from({ length: 20 }, async () => use(world, newTokenText(systemRuntime, "program"), undefined, from)),
    );
    const seconds = Math.ceil((Date.now() - since) / 1000);
    expect(reads.mock.calls.length).toBeLessThanOrEqual(5 * seconds);
    reads.mockRestore();
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([429]));
    expect(others.filter(({ headers }) => headers.get("retry-after") === "1").length).toBeGreaterThanOrEqual(
      20 - 5 * seconds,
    );
    expect((await use(world, token, undefined, from)).status).toBe(200);
    expect((await use(world, cold, undefined, from)).status).toBe(200);
    expect((await use(world, unknownToken, undefined, { "cf-connecting-ip": "192.0.2.8" })).status).toBe(429);
  });
});

describe("tokens of a restored directory", () => {
  it("a restored directory lists all its tokens, those of owners first", async () => {
    const world = await World.create();
    await Promise.all(Array.from({ length: 101 }, (_, n) => newToken({ name: `a${n}` })));
    const last = await newToken({ name: "zzz, deleted and back", role: "owner" });
    const answer = await call(world, "POST", "/admin/homes/main/restored", { force: true });
    expect(answer.status).toBe(200);
    const ids = (answer.body as { tokens: { id: string }[] }).tokens.map(({ id }) => id);
    expect(ids).toContain(last.id);
  });
});
