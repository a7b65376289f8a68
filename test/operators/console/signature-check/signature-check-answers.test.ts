import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { seedSession } from "../../../support/seed-session.ts";
import { ACCEPTS, checkSignature, checkSigned, type Operation, PARAMETERS } from "../../../support/signature-check.ts";
import { type Body, hmac, NOW, type ReplacedBindings, World } from "../../../support/world.ts";

interface Case {
  body: string | Body;
  operation?: Operation;
  /** Undefined means the right signature. */
  signature?: string;
  contentType?: string;
  contentEncoding?: string;
  idempotencyKey?: string;
}

const NESTED = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
const twice = async (world: World, operation: Operation, body: Body, first: number) => {
  expect((await world.send(operation, body)).status).toBe(first);
  return { operation, body };
};

/** Requests that pasted-requests.test.ts does not compare: limits, and answers that depend on stored data. */
const CASES: [string, number, (world: World) => Case | Promise<Case>][] = [
  ["a create with a fraction for sbs", 400, (world) => ({ body: world.createBody({ sbs: 1.5 }) })],
  [
    "a create with a stray chat_id and kefu_ids",
    200,
    (world) => ({ body: world.createBody({ chat_id: 1, kefu_ids: "x" }) }),
  ],
  ["a create with 2,000 brackets in one another", 200, (world) => ({ body: world.createBody({ x: NESTED(2_000) }) })],
  [
    "an agent list with 2,000 brackets in one another",
    400,
    (world) => ({ body: world.createBody({ kefu_id: NESTED(2_000) }) }),
  ],
  ["a create with half a character", 400, (world) => ({ body: world.createBody({ content: "\ud83d" }) })],
  ["a ranstr of 129 characters", 400, (world) => ({ body: world.createBody({ ranstr: "x".repeat(129) }) })],
  ["a timestamp 301 seconds old", 401, (world) => ({ body: world.createBody({ timestamp: NOW - 301 }) })],
  [
    "a timestamp 301 seconds ahead, and no sbs",
    401,
    (world) => ({ body: world.createBody({ timestamp: NOW + 301, sbs: "" }) }),
  ],
  ["a ranstr used with success", 401, (world) => twice(world, "create_gd", world.createBody(), 200)],
  [
    "a ranstr used without success",
    401,
    (world) => twice(world, "create_gd", world.createBody({ kefu_id: [1, 99] }), 400),
  ],
  [
    "a ranstr that another create used",
    401,
    async (world) => {
      await world.chatId({ ranstr: "shared" });
      return { body: world.createBody({ ranstr: "shared", content: "Another", sbs: "" }) };
    },
  ],
  [
    "the old secret without an overlap",
    401,
    () =>
      ofAnotherSite(async (world) => {
        await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 0 });
        return world.createBody({ sbs: "" });
      }),
  ],
  [
    "a revoked app and a bad field",
    401,
    () =>
      ofAnotherSite(async (world) => {
        await world.admin("DELETE", `/admin/apps/${world.appid}`);
        return world.createBody({ sbs: "" });
      }),
  ],
  ["65,536 bytes", 400, (world) => ({ body: paddedBody(world, 65_536) })],
  ["65,537 bytes", 413, (world) => ({ body: paddedBody(world, 65_537) })],
  ["30,000 open brackets", 400, () => ({ body: "[".repeat(30_000) })],
  [
    "a create with a used ranstr under its key",
    401,
    async (world) => {
      const body = world.createBody();
      await world.send("create_gd", body, { "idempotency-key": "key-4" });
      return { body, idempotencyKey: "key-4" };
    },
  ],
  [
    "an add of one new agent among others",
    200,
    async (world) => add(world, await world.chatId(), { kefu_ids: [1, 3, 4, 99] }),
  ],
  ["an add to an unknown session", 404, (world) => add(world, 999_999)],
  [
    "an add to another site's session",
    404,
    async (world) => add(world, await seedSession(await World.create(), { id: 4_444 })),
  ],
  ["an add to a chat", 409, async (world) => add(world, await seedSession(world, { kind: "chat" }))],
  [
    "an add to a session without a responsible agent",
    409,
    async (world) => add(world, await seedSession(world, { responsibleAgentId: null })),
  ],
  ["an add of none that is new", 409, async (world) => add(world, await world.chatId(), { kefu_ids: "1, 2,4,99" })],
  ["an add to a text", 400, (world) => ({ operation: "add_kf", body: world.addBody(1, { chat_id: "1" }) })],
  [
    "an add whose ranstr was used with success",
    401,
    async (world) => twice(world, "add_kf", world.addBody(await world.chatId()), 200),
  ],
  [
    "an add whose ranstr was used without success",
    401,
    async (world) => twice(world, "add_kf", world.addBody(999_999), 404),
  ],
];

const add = (world: World, chatId: number, change: Body = {}): Case => ({
  operation: "add_kf",
  body: world.addBody(chatId, change),
});

/** A create signed by an app of another site, which `make` may change. */
async function ofAnotherSite(make: (world: World) => Promise<Body>): Promise<Case> {
  const world = await World.create();
  const body = JSON.stringify(await make(world));
  return { body, signature: await hmac(world.secret, body) };
}

/** A create of this many bytes without a required field. */
function paddedBody(world: World, bytes: number): string {
  const body = JSON.stringify(world.createBody({ ip: undefined, note: "" }));
  return body.replace('"note":""', `"note":"${"x".repeat(bytes - body.length)}"`);
}

describe("the signature check gives the server's answer", () => {
  let world: World;
  let visitor: ConsoleVisitor;
  beforeAll(async () => {
    // The check waits for KV, so that replays are seen before fields are checked.
    world = await World.create({ REPLAY_LOOK_MS: "1000" });
    visitor = await ConsoleVisitor.signedIn(world);
  });

  it.each(CASES)("the signature check gives the server's answer to %s: %d", async (_, status, make) => {
    const { operation = "create_gd", ...request } = await make(world);
    const body = typeof request.body === "string" ? request.body : JSON.stringify(request.body);
    const { signature = await hmac(world.secret, body) } = request;
    const { contentType, contentEncoding, idempotencyKey } = request;
    const headers = {
      ...(signature !== "" && { "x-chat-signature": signature }),
      ...(contentType !== undefined && { "content-type": contentType }),
      ...(contentEncoding !== undefined && { "content-encoding": contentEncoding }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    };
    const check = await checkSignature(visitor, { ...request, operation, body, signature });
    const reply = await world.sendRaw(operation, body, headers);
    expect(reply.status).toBe(status);
    expect(check.answer).toBe(
      status === 200 ? ACCEPTS : `Sent now, the server answers ${status} ${reply.envelope.msg}`,
    );
    const [about, cause] = Object.entries(check.lines).find(([, { state }]) => state === "Cause") ?? [];
    if (about?.startsWith("Fields of")) expect(cause?.text).toContain(reply.headers.get("x-error-detail"));
  });

  it("the signature check says 200 for a refused request when ERROR_STATUS is always-200", async () => {
    const world = await World.create({ ERROR_STATUS: "always-200" });
    const visitor = await ConsoleVisitor.signedIn(world);
    const { answer } = await checkSigned(world, visitor, { sbs: "" });
    expect(answer).toBe("Sent now, the server answers 200 参数错误");
  });
});

describe("the signature check for a site that does not serve", () => {
  const UNAVAILABLE = "Sent now, the server answers 503 服务暂时不可用";

  /** The check's verdict, and the server's answer to the same request from an isolate with these bindings. */
  async function compare(world: World, visitor: ConsoleVisitor, bindings: ReplacedBindings, change: Body = {}) {
    const other = world.anotherIsolate(bindings);
    const verdict = await checkSigned(world, visitor.through(other), change);
    return { verdict, answer: await other.create(change) };
  }

  it("the signature check gives the server's answer for a closed site, after the checks that come first", async () => {
    const { world, visitor } = await start();
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { status: "closed" });
    const before = await world.stored();
    const { verdict, answer } = await compare(world, visitor, {});
    expect([answer.status, verdict.answer]).toEqual([503, UNAVAILABLE]);
    expect(verdict.lines.Site).toEqual({
      state: "Cause",
      text: "The site is closed: its calls are answered 503 until it is opened.",
    });
    const wrong = await compare(world, visitor, {}, { sbs: "" });
    expect([wrong.answer.status, wrong.verdict.answer]).toEqual([400, PARAMETERS]);
    expect(wrong.verdict.lines.Site?.state).toBe("Also");
    // The site is checked before the rules of the call.
    const unknown = await compare(world, visitor, {}, { kefu_id: [1, 99] });
    expect([unknown.answer.status, unknown.verdict.answer]).toEqual([503, UNAVAILABLE]);
    expect(await world.stored()).toEqual(before);
  });

  it("the signature check gives the server's answer for a closed home, whatever the request is", async () => {
    const { world, visitor } = await start();
    for (const change of [{}, { sbs: "" }, { timestamp: NOW - 9_999 }]) {
      const { verdict, answer } = await compare(world, visitor, closedHomeVars("apac"), change);
      expect([answer.status, verdict.answer]).toEqual([503, UNAVAILABLE]);
      expect(verdict.lines.Home?.text).toBe(
        "apac is closed: calls of its sites are answered 503 until somebody opens it.",
      );
      expect(verdict.lines.Signature?.text).toBe("Valid.");
    }
  });

  it.each([
    [
      "does not answer",
      { HOME_APAC: faultyD1(env.HOME_APAC, new Faults(() => "before")) },
      "The home apac of this app does not answer. More cannot be checked until it does.",
    ],
    [
      "is not bound",
      { HOME_APAC: undefined },
      "apac has no database: calls of its sites are answered 503. Bind it again.",
    ],
  ])("the signature check gives the server's answer for a home that %s", async (_, bindings, text) => {
    const { world, visitor } = await start();
    const { verdict, answer } = await compare(world, visitor, bindings);
    expect([answer.status, verdict.answer]).toEqual([503, UNAVAILABLE]);
    expect(Object.keys(verdict.lines)).toEqual(["Content-Type", "Content-Encoding", "Body", "Home"]);
    expect(verdict.lines.Home).toEqual({ state: "Cause", text });
  });

  it("the signature check gives the server's answer for a home that lacks a migration of this release", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    // A signed call needs the columns of nonces, and not those of every table.
    const ofNonces = env.MIGRATIONS.findLastIndex(({ queries }) => queries.some((query) => query.includes("`nonces`")));
    await applyD1Migrations(env.UNMIGRATED, env.MIGRATIONS.slice(0, ofNonces));
    const { world, visitor } = await start();
    for (const table of ["home_sites", "apps", "agents"]) {
      const rowsOfSite = env.HOME_APAC.prepare(`SELECT * FROM ${table} WHERE site_id = ?`).bind(world.siteId);
      for (const row of (await rowsOfSite.all()).results) {
        const values = Object.keys(row).map(() => "?");
        const insert = `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${values})`;
        await env.UNMIGRATED.prepare(insert)
          .bind(...Object.values(row))
          .run();
      }
    }
    const { verdict, answer } = await compare(world, visitor, { HOME_APAC: env.UNMIGRATED });
    expect([answer.status, verdict.answer]).toEqual([503, UNAVAILABLE]);
    expect(verdict.lines.Home).toEqual({
      state: "Cause",
      text: "apac lacks a migration of this release: npm run deploy migrates all databases.",
    });
    vi.restoreAllMocks();
  });

  it("the signature check gives the server's answer when MASTER_KEY does not open the app's secret", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { world, visitor } = await start();
    const wrong = { MASTER_KEY: Uint8Array.fromBase64(env.MASTER_KEY).toReversed().toBase64() };
    const { verdict, answer } = await compare(world, visitor, wrong);
    expect([answer.status, verdict.answer]).toEqual([500, "Sent now, the server answers 500 系统错误"]);
    expect(verdict.lines.MASTER_KEY).toEqual({
      state: "Cause",
      text: "MASTER_KEY does not open the app's secret. Set the master key that sealed it, as MASTER_KEY or MASTER_KEY_PREVIOUS.",
    });
    expect(verdict.lines.App?.state).toBe("Fine");
    const closed = await compare(world, visitor, { ...wrong, ...closedHomeVars("apac") });
    expect([closed.answer.status, closed.verdict.answer]).toEqual([503, UNAVAILABLE]);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    const revoked = await compare(world, visitor, wrong);
    expect([revoked.answer.status, revoked.verdict.answer]).toEqual([
      401,
      "Sent now, the server answers 401 token验证失败!",
    ]);
    vi.restoreAllMocks();
  });

  it("the signature check does not mention home and site when both are open", async () => {
    const { world, visitor } = await start();
    const { answer, lines } = await checkSigned(world, visitor);
    expect([answer, lines.Home, lines.Site]).toEqual([ACCEPTS, undefined, undefined]);
  });
});
