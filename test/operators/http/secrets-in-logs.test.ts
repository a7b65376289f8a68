import { createExecutionContext, createScheduledController, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Bindings } from "../../../src/core/config.ts";
import worker from "../../../src/index.ts";
import { type Fault, Faults, faultyD1, faultyKv } from "../../support/faulty-bindings.ts";
import { newToken, useToken } from "../../support/new-token.ts";
import { startCall, withoutWaiting } from "../../support/patient-fetch.ts";
import { replacing } from "../../support/replacing.ts";
import { type Body, hmac, World } from "../../support/world.ts";

/** Words that occur nowhere else, so that each hit is a leak. */
const PRIVATE = {
  sbs: "sbs-Zq81Kd",
  sbs_mc: "Ottoline Quackenbush",
  content: "Xylophone content that nobody else may read",
  title: "Quixotic title",
  ip: "203.0.113.77",
};
const KEY = "idempotency-Vw5Rt";
const OTHER_MASTER_KEY = btoa("another master key of 32 bytes!!");
const WRONG_TOKEN = "wrong-admin-token-8f7e6d5c4b3a2918";

let logs: string[];

beforeEach(() => {
  logs = [];
  for (const method of ["log", "info", "warn", "error", "debug", "trace"] as const) {
    vi.spyOn(console, method).mockImplementation((...args: unknown[]) => void logs.push(args.map(inFull).join(" ")));
  }
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A logged value with everything that a console or a log service would show. */
function inFull(thing: unknown): string {
  if (!(thing instanceof Error)) return typeof thing === "string" ? thing : JSON.stringify(thing);
  return [thing.name, thing.message, thing.stack, inFull(thing.cause ?? "")].join(" ");
}

/** A run of a world that stores every answer and secret, to search for them later. */
class LoggedRun {
  readonly world: World;
  readonly secrets = new Map<string, string>();
  readonly answers: string[] = [];

  private constructor(world: World) {
    this.world = world;
    this.secrets.set("secret", world.secret);
    this.secrets.set("admin token", env.ADMIN_TOKEN).set("wrong admin token", WRONG_TOKEN);
    this.secrets.set("master key", env.MASTER_KEY).set("another master key", OTHER_MASTER_KEY);
    this.secrets.set("idempotency key", KEY);
    for (const [field, value] of Object.entries(PRIVATE)) this.secrets.set(field, value);
  }

  static async start(): Promise<LoggedRun> {
    return new LoggedRun(await World.create());
  }

  body(change: Body = {}): Body {
    return this.world.createBody({ ...PRIVATE, ...change });
  }

  /** Sends with an idempotency key. Signs when no signature is given. */
  async send(
    isolate: World,
    operation: "create_gd" | "add_kf",
    body: Body | string,
    headers: Record<string, string> = {},
  ) {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const signature = headers["x-chat-signature"] ?? (await hmac(this.world.secret, text));
    this.secrets.set(`signature ${this.secrets.size}`, signature);
    const answer = await isolate.sendRaw(operation, text, {
      "idempotency-key": KEY,
      ...headers,
      "x-chat-signature": signature,
    });
    this.answers.push(JSON.stringify([answer.envelope, ...answer.headers]));
    return answer;
  }

  isolate(bindings: Partial<Bindings>): World {
    return this.world.anotherIsolate(bindings);
  }

  /** Fails when a log line, or an answer, holds a secret. */
  async expectSilence(lines: number): Promise<void> {
    const { results } = await env.DB.prepare("SELECT secret, previous_secret FROM apps WHERE appid = ?")
      .bind(this.world.appid)
      .all();
    for (const row of results) {
      this.secrets.set("sealed secret", String(row.secret));
      if (row.previous_secret !== null) this.secrets.set("previous sealed secret", String(row.previous_secret));
    }
    expect(logs.length).toBeGreaterThanOrEqual(lines);
    const leaks = [...this.secrets].filter(([, value]) =>
      `${logs.join("\n")}\n${this.answers.join("\n")}`.includes(value),
    );
    expect(leaks).toEqual([]);
  }
}

it("the logs of accepted and refused requests hold nothing secret", async () => {
  const run = await LoggedRun.start();
  const { world } = run;
  const first = run.body();
  const answer = await run.send(world, "create_gd", first);
  expect(answer.status).toBe(200);
  const { chat_id } = answer.envelope.data as { chat_id: number };
  const add = (change: Body = {}) => world.addBody(chat_id, change);
  const cases: [number, "create_gd" | "add_kf", Body | string, Record<string, string>?][] = [
    [200, "create_gd", run.body()],
    [200, "add_kf", add()],
    [401, "create_gd", first],
    [422, "create_gd", run.body({ sender_type: 1 })],
    [400, "create_gd", run.body({ sender_type: 4, kefu_id: PRIVATE.content, fzr_uid: PRIVATE.title, ip: PRIVATE.sbs })],
    [400, "create_gd", run.body(), { "idempotency-key": `${KEY} ${PRIVATE.content}` }],
    [400, "create_gd", run.body({ kefu_id: [1, 4] }), { "idempotency-key": `${KEY}2` }],
    [400, "create_gd", `{"content":"${PRIVATE.content}",}`],
    [400, "create_gd", JSON.stringify(PRIVATE.content)],
    [401, "create_gd", run.body({ timestamp: 1 })],
    [400, "create_gd", run.body({ timestamp: PRIVATE.content })],
    [401, "create_gd", run.body(), { "x-chat-signature": world.secret }],
    [401, "create_gd", run.body(), { "x-chat-signature": PRIVATE.content }],
    [401, "create_gd", run.body({ appid: world.secret })],
    [401, "create_gd", run.body({ appid: PRIVATE.sbs })],
    [404, "add_kf", world.addBody(999_999), { "idempotency-key": `${KEY}3` }],
    [409, "add_kf", add({ kefu_ids: "4" }), { "idempotency-key": `${KEY}4` }],
    [400, "add_kf", add({ kefu_ids: PRIVATE.content })],
    [415, "create_gd", run.body(), { "content-type": `text/plain; x=${PRIVATE.title}` }],
    [413, "create_gd", run.body({ content: PRIVATE.content.repeat(2_000) })],
  ];
  for (const [status, operation, body, headers] of cases) {
    expect((await run.send(world, operation, body, headers)).status).toBe(status);
  }
  const isolate = run.isolate({
    APP_LIMIT: { limit: async () => ({ success: false }) },
    CLIENT_LIMIT: { limit: async () => ({ success: false }) },
  });
  // The first request is over the limit, and the isolate remembers it.
  expect((await run.send(isolate, "create_gd", run.body())).status).toBe(200);
  expect((await run.send(isolate, "create_gd", run.body())).status).toBe(429);
  const path = await world.fetch(new Request(`http://worker/${world.secret}?${PRIVATE.sbs}`));
  expect(path.status).toBe(404);
  await run.expectSilence(cases.length + 3);
});

it("the logs of operators' calls hold nothing secret: issue, import, rotate, revoke, read, and failures", async () => {
  const run = await LoggedRun.start();
  const { world } = run;
  const { appid, siteId } = world;
  await run.send(world, "create_gd", run.body());
  const secret = "a-secret-brought-along-from-elsewhere";
  run.secrets.set("brought secret", secret);
  const answers: [number, Response][] = [
    [
      201,
      await world.admin("POST", `/admin/sites/${siteId}/apps`, {
        name: "Taken over",
        appid: `old-${appid}`,
        secret,
      }),
    ],
    [
      409,
      await world.admin("POST", `/admin/sites/${siteId}/apps`, {
        name: "Again",
        appid: `old-${appid}`,
        secret,
      }),
    ],
    [400, await world.admin("POST", `/admin/sites/${siteId}/apps`, { name: "", secret: `${secret}\u0000` })],
    [200, await world.admin("GET", `/admin/sites/${siteId}/apps`)],
    [200, await world.admin("GET", `/admin/sites/${siteId}/sessions`)],
    [404, await world.admin("DELETE", `/admin/apps/${secret}`)],
  ];
  for (const [status, answer] of answers) expect(answer.status).toBe(status);
  const rotation = await world.admin("POST", `/admin/apps/${appid}/rotate`, {});
  run.secrets.set("rotated secret", (await rotation.json<{ secret: string }>()).secret);
  const wrong = await world.fetch(
    new Request("http://worker/admin/sites", { headers: { authorization: `Bearer ${WRONG_TOKEN}` } }),
  );
  expect(wrong.status).toBe(401);
  run.answers.push(await wrong.text());
  const deletedToken = await newToken({ deletedAt: 1 });
  run.secrets.set("deleted token", deletedToken.token);
  expect((await useToken(world, deletedToken.token, "GET", "/admin/sites")).status).toBe(401);
  await run.expectSilence(9);
  expect((await world.admin("DELETE", `/admin/apps/${appid}`)).status).toBe(204);
  expect((await run.send(world, "create_gd", run.body())).status).toBe(401);
  await run.expectSilence(11);
});

it("the log says that the master key is wrong, without any key and without sealed data", async () => {
  const run = await LoggedRun.start();
  await env.CREDENTIALS.delete(`app:${run.world.appid}`);
  for (const [MASTER_KEY, reason] of [
    [OTHER_MASTER_KEY, "master_key_wrong"],
    [`${env.MASTER_KEY}${env.MASTER_KEY}`, "configuration"],
    ["no base64: Xylophone content that nobody else may read", "configuration"],
  ] as const) {
    const before = logs.length;
    const isolate = run.isolate({ MASTER_KEY });
    expect((await run.send(isolate, "create_gd", run.body())).status).toBe(500);
    expect(logs.slice(before).join()).toContain(`"reason":"${reason}"`);
    const rotation = await isolate.admin("POST", `/admin/apps/${run.world.appid}/rotate`, {});
    expect(rotation.status).toBe(500);
    run.answers.push(await rotation.text());
  }
  await run.expectSilence(6);
});

/** How an error reaches the Worker: a rejection, an exception, and a rejection after the answer. */
const FAULTS: Fault[] = ["before", "throws", "never done"];

/** Everything that a caller sent and that an error may quote. */
const QUOTE = JSON.stringify([PRIVATE, KEY]);

it.each([
  ["the network", "Network connection lost."],
  ["an answer of D1 that is no JSON", `D1_ERROR: Failed to parse body as JSON, got: ${QUOTE}`],
  ["a value that D1 does not take", `D1_TYPE_ERROR: Type 'object' not supported for value '${QUOTE}'`],
  ["an error of any kind", `boom ${QUOTE}`],
  ["an error that looks like a stack", `boom\n    at ${QUOTE}\n    at ${PRIVATE.content}`],
  ["an overload", "D1_ERROR: D1 DB is overloaded. Requests queued for too long."],
])("the logs hold nothing secret when bindings fail with %s", async (_, message) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const run = await LoggedRun.start();
  for (const fault of FAULTS) {
    const faults = new Faults(() => fault, message);
    const isolate = run.isolate({
      DB: faultyD1(env.DB, faults),
      NONCES: faultyKv(env.NONCES, faults, "NONCES"),
      CREDENTIALS: faultyKv(env.CREDENTIALS, faults, "CREDENTIALS"),
    });
    const call = await startCall(isolate, "create_gd", run.body(), { "idempotency-key": KEY });
    const { status, envelope, headers } = await withoutWaiting(call.answer, faults);
    expect(status).toBeOneOf([500, 503]);
    run.answers.push(JSON.stringify([envelope, ...headers]));
    await faults.end();
    await withoutWaiting(call.rest(), faults);
    if (fault === "never done") continue;
    faults.plan(() => fault);
    const operate = (path: string, body: Body) => withoutWaiting(isolate.admin("POST", path, body), faults);
    const siteAnswer = await operate("/admin/sites", { name: PRIVATE.content });
    expect(siteAnswer.status).toBeOneOf([500, 503]);
    run.answers.push(await siteAnswer.text());
    const appAnswer = await operate(`/admin/sites/${run.world.siteId}/apps`, { name: "App", secret: run.world.secret });
    expect(appAnswer.status).toBeOneOf([500, 503]);
    run.answers.push(await appAnswer.text());
  }
  await run.expectSilence(FAULTS.length + 4);
});

it("the logs hold nothing secret when SQLite refuses what a request writes", async () => {
  const run = await LoggedRun.start();
  const refusing = replacing(env.DB, {
    batch: () =>
      env.DB.batch([
        env.DB.prepare(
          `INSERT INTO sites (id, name, home, first_chat_id, status, revision, created_at)
          VALUES (1, ?, 'main', 1, 'open', 0, 1), (1, ?, 'main', 1, 'open', 0, 1)`,
        ).bind(PRIVATE.content, PRIVATE.sbs),
      ]),
  });
  const answer = await run.send(run.isolate({ DB: refusing }), "create_gd", run.body());
  expect(answer.status).toBe(500);
  expect(logs.join()).toContain("UNIQUE constraint failed: sites.id");
  await run.expectSilence(1);
});

it("the logs of cron jobs hold nothing secret", async () => {
  const run = await LoggedRun.start();
  expect((await run.send(run.world, "create_gd", run.body())).status).toBe(200);
  const context = createExecutionContext();
  const controller = createScheduledController({ scheduledTime: new Date((run.world.clock.now + 90_000) * 1000) });
  await worker.scheduled(controller, env);
  await waitOnExecutionContext(context);
  expect((await run.world.stored()).keys).toEqual([]);
  await run.expectSilence(2);
});
