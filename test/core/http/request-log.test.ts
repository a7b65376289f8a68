import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { version } from "../../../package.json";
import type { Bindings } from "../../../src/core/config.ts";
import { newHono } from "../../../src/core/http/new-hono.ts";
import type { Isolate } from "../../../src/core/http/request-context.ts";
import { requestLog } from "../../../src/core/http/request-log.ts";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { call } from "../../support/admin-calls.ts";
import { keepingJournal } from "../../support/journal.ts";
import { replacing } from "../../support/replacing.ts";
import { NOW, World } from "../../support/world.ts";

const log = vi.spyOn(console, "log");
const error = vi.spyOn(console, "error");
const warn = vi.spyOn(console, "warn");

beforeEach(() => [log, error, warn].forEach((spy) => void spy.mockReset().mockImplementation(() => {})));
afterEach(() => [log, error, warn].forEach((spy) => void spy.mockReset()));

type Line = Record<string, unknown>;

/** The new lines of one kind, parsed, without the version: each line is one JSON object, and has the version of package.json. */
function lines(spy: typeof log): Line[] {
  const parsedLines = spy.mock.calls.map((args) => {
    expect(args).toHaveLength(1);
    const { version: lineVersion, ...line } = JSON.parse(String(args[0])) as Line;
    expect(lineVersion).toBe(version);
    return line;
  });
  spy.mockClear();
  return parsedLines;
}

let site: World;
beforeAll(async () => {
  site = await World.create();
});

/** A new isolate for the one site of this file. The site's app is not in KV, so the first request reads D1. Nothing is in the log yet. */
async function quietWorld(change: Partial<Bindings> = {}): Promise<World> {
  const world = site.anotherIsolate({ JOURNAL: keepingJournal().JOURNAL, ...change });
  await env.CREDENTIALS.delete(`app:${world.appid}`);
  for (const spy of [log, error, warn]) spy.mockClear();
  return world;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TIME = expect.any(Number) as unknown;

describe("the request log", () => {
  it("an accepted request has one log line, with the source of its credentials and the time of each wait", async () => {
    const world = await quietWorld();
    const { headers, envelope } = await world.create();
    const line = {
      request_id: headers.get("x-request-id"),
      method: "POST",
      route: "/openapi/chat/create_gd",
      status: 200,
      appid: world.appid,
      home: "main",
      outcome: "ok",
      chat_id: (envelope.data as { chat_id: number }).chat_id,
      credentials_from: "d1",
      credentials_ms: TIME,
      kv_ms: TIME,
      d1_ms: TIME,
      ms: TIME,
    };
    expect(lines(log)).toEqual([line]);
    expect(line.request_id).toMatch(UUID);
    const secondAnswer = await world.add(line.chat_id);
    expect(lines(log)).toEqual([
      {
        ...line,
        request_id: secondAnswer.headers.get("x-request-id"),
        route: "/openapi/chat/add_kf",
        credentials_from: "isolate",
      },
    ]);
    expect([lines(error), lines(warn)]).toEqual([[], []]);
  });

  it("each request gets its own id, whatever id it brings", async () => {
    const world = await quietWorld();
    const idHeader = { "x-request-id": "11111111-1111-4111-8111-111111111111" };
    const answers = [await world.create({}, idHeader), await world.create({}, idHeader)];
    const ids = answers.map(({ headers }) => headers.get("x-request-id"));
    expect(new Set([...ids, idHeader["x-request-id"]]).size).toBe(3);
    expect(lines(log).map((line) => line.request_id)).toEqual(ids);
  });

  it.each<[string, (world: World) => Promise<unknown>, Line]>([
    [
      "a stale timestamp",
      (world) => world.create({ timestamp: NOW - 301 }),
      {
        status: 401,
        reason: "timestamp_stale",
        detail: `timestamp: must be within 300 s of ${NOW}, Unix seconds`,
        appid: "APPID",
        home: "main",
        credentials_from: "d1",
      },
    ],
    [
      "a bad field",
      (world) => world.create({ fzr_uid: 9 }),
      {
        status: 400,
        reason: "fields_invalid",
        detail: "fzr_uid: must be one of kefu_id",
        appid: "APPID",
        home: "main",
        credentials_from: "d1",
        kv_ms: TIME,
      },
    ],
    [
      "a disabled agent",
      (world) => world.create({ kefu_id: [4], fzr_uid: 4 }),
      {
        status: 400,
        reason: "agents_invalid",
        detail: "kefu_id: 4 disabled",
        appid: "APPID",
        home: "main",
        credentials_from: "d1",
        kv_ms: TIME,
        d1_ms: TIME,
      },
    ],
    [
      "a wrong signature",
      (world) => world.create({}, { "x-chat-signature": "0".repeat(64) }),
      { status: 401, reason: "signature_mismatch", appid: "APPID", home: "main" },
    ],
    [
      "an unknown appid",
      (world) => world.create({ appid: "secret-typed-here" }),
      { status: 401, reason: "app_unknown" },
    ],
    [
      "a body that is no JSON",
      (world) => world.send("create_gd", "{,}"),
      {
        status: 400,
        reason: "body_not_json",
        detail:
          "body: must be JSON as a library writes it: double quotes, no comma at the end, no line break in a string",
      },
    ],
    [
      "a wrong media type",
      (world) => world.create({}, { "content-type": "text/plain" }),
      {
        status: 415,
        reason: "content_type_not_json",
        detail: "Content-Type: must be application/json, and is text/plain",
      },
    ],
  ])("the log gives the reason of a refusal: %s", async (_, send, expected) => {
    const world = await quietWorld();
    await send(world);
    const { status, reason, appid, ...times } = expected;
    const authenticated = status === 401 || appid !== undefined;
    expect(lines(log)).toEqual([
      {
        request_id: expect.stringMatching(UUID),
        method: "POST",
        route: "/openapi/chat/create_gd",
        status,
        ...(appid !== undefined && { appid: world.appid }),
        outcome: "refused",
        reason,
        ...(authenticated && { credentials_ms: TIME }),
        ...times,
        ms: TIME,
      },
    ]);
    expect([lines(error), lines(warn)]).toEqual([[], []]);
  });

  it("the log marks a repeated answer, and names the agents that an add left out", async () => {
    const world = await quietWorld();
    const key = { "idempotency-key": "k" };
    await world.create({}, key);
    const { envelope } = await world.create({}, key);
    await world.add((envelope.data as { chat_id: number }).chat_id, { kefu_ids: [1, 3, 4, 404] });
    expect(lines(log).map(({ outcome, ignored_agents }) => [outcome, ignored_agents])).toEqual([
      ["ok", undefined],
      ["repeated", undefined],
      ["ok", "404 unknown, 4 disabled, 1 already on the session"],
    ]);
  });

  it("the log names the route that answered, also when a later route matches the same path", async () => {
    const routes: unknown[] = [];
    const telemetry = { request: ({ route }: { route: unknown }) => routes.push(route) };
    const app = newHono();
    app.use(requestLog({ runtime: systemRuntime, telemetry } as unknown as Isolate));
    app.get("/agents/unused", (c) => c.text("unused"));
    app.get("/agents/:id", (c) => c.text("one"));
    for (const path of ["/agents/unused", "/agents/1"]) await app.request(path);
    expect(routes).toEqual(["/agents/unused", "/agents/:id"]);
  });

  it("the log names routes by their pattern, never by the caller's text", async () => {
    const world = await quietWorld();
    const routes = async (method: string, path: string) => {
      await call(world, method, path);
      return lines(log).map(({ route, status }) => [route, status]);
    };
    expect(await routes("GET", `/admin/sites/${world.siteId}/apps?cursor=a`)).toEqual([
      ["/admin/sites/:site_id/apps", 200],
    ]);
    expect(await routes("DELETE", "/admin/apps/my-secret")).toEqual([["/admin/apps/:appid", 404]]);
    expect(await routes("PUT", "/admin/apps/my-secret")).toEqual([["/admin/apps/:appid", 405]]);
    for (const path of ["/admin/my-secret", "/my-secret", "/openapi/chat/my-secret?a=my-secret"]) {
      await world.fetch(new Request(`http://worker${path}`));
      expect(log.mock.calls.join()).not.toContain("my-secret");
      expect(lines(log)).toMatchObject([{ outcome: "refused" }]);
    }
  });

  it("the log says why an operator was refused, without anything that the operator sent", async () => {
    const world = await quietWorld();
    const { body } = await call(world, "POST", `/admin/sites/${world.siteId}/apps`, { name: "Secretive" });
    await call(world, "POST", "/admin/sites", { name: "" });
    const text = log.mock.calls.join();
    for (const secretText of [(body as { secret: string }).secret, "Secretive", world.env.ADMIN_TOKEN ?? "?"]) {
      expect(text).not.toContain(secretText);
    }
    expect(lines(log)).toMatchObject([
      { status: 201, outcome: "ok" },
      { status: 400, outcome: "refused", reason: "fields_invalid" },
    ]);
  });

  it("a 5xx is an error line of the log, which describes the fault without data", async () => {
    const batch = () => Promise.reject(new Error("D1_ERROR: D1 DB is overloaded. Too many requests queued."));
    const world = await quietWorld({ DB: replacing(env.DB, { batch }) });
    const { status, headers, envelope } = await world.create();
    expect({ status, envelope }).toEqual({ status: 503, envelope: { code: -1, msg: "服务暂时不可用", data: "" } });
    expect(headers.get("retry-after")).toBe("1");
    expect(lines(error)).toMatchObject([
      {
        request_id: headers.get("x-request-id"),
        status: 503,
        outcome: "refused",
        reason: "d1_unavailable",
        fault: "Error: D1_ERROR: D1 DB is overloaded. Too many requests queued.",
      },
    ]);
    expect([lines(log), lines(warn)]).toEqual([[], []]);
  });

  it("a 5xx is an error line of the log even when ERROR_STATUS turns it into 200, but a refusal is not", async () => {
    const batch = () => Promise.reject(new Error("D1_ERROR: D1 DB is overloaded."));
    const ERROR_STATUS = "always-200" as never;
    const world = await quietWorld({ DB: replacing(env.DB, { batch }), ERROR_STATUS });
    expect((await world.create()).status).toBe(200);
    expect(lines(error)).toMatchObject([{ status: 200, outcome: "refused", reason: "d1_unavailable" }]);
    expect((await world.create({ fzr_uid: 9 })).status).toBe(200);
    expect(lines(log)).toMatchObject([{ status: 200, outcome: "refused", reason: "fields_invalid" }]);
    expect(lines(error)).toEqual([]);
  });
});

describe("a deployment that is not configured", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["without DB", { DB: undefined }, "ConfigurationError: DB is not bound"],
    ["without MASTER_KEY", { MASTER_KEY: undefined }, "ConfigurationError: MASTER_KEY is not set"],
    [
      "with a MASTER_KEY of another kind",
      { MASTER_KEY: "changeme" },
      "ConfigurationError: MASTER_KEY must be 32 bytes in base64",
    ],
    [
      "with a var of another kind",
      { ERROR_STATUS: "sometimes" },
      'ConfigurationError: ERROR_STATUS must be "by-cause" or "always-200"',
    ],
  ])("a deployment %s answers 500 with one clear log line for each request", async (_, change, fault) => {
    const world = await quietWorld(change as Partial<Bindings>);
    for (let i = 0; i < 2; i++) {
      const { status, headers } = await world.create();
      expect(status).toBe(500);
      expect(lines(error)).toEqual([
        {
          request_id: headers.get("x-request-id"),
          method: "POST",
          route: "/openapi/chat/create_gd",
          status: 500,
          // Without the directory the app of the call is unknown.
          ...("DB" in change ? {} : { appid: world.appid, home: "main" }),
          outcome: "refused",
          reason: "configuration",
          fault,
          ms: TIME,
        },
      ]);
      expect([lines(log), lines(warn)]).toEqual([[], []]);
    }
  });

  it("a deployment without KV and without the admin token serves, and warns once", async () => {
    const change = { NONCES: undefined, CREDENTIALS: undefined, JOURNAL: undefined, ADMIN_TOKEN: undefined };
    const world = await quietWorld(change as unknown as Partial<Bindings>);
    expect((await world.create()).status).toBe(200);
    expect((await world.create()).status).toBe(200);
    expect(lines(warn)).toEqual([
      { warning: "NONCES is not bound: D1 decides alone" },
      { warning: "CREDENTIALS is not bound: D1 decides alone" },
      { warning: "JOURNAL is not bound: refused calls are in the log only" },
      { warning: "ADMIN_TOKEN is not set: the admin API and the console refuse everything" },
    ]);
    expect(lines(log)).toHaveLength(2);
  });
});
