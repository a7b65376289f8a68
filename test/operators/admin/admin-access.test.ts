import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Bindings } from "../../../src/core/config.ts";
import { ADMIN_CALLS, type AdminCallId } from "../../../src/operators/admin/calls.ts";
import { CALLS, MAIN_DOWN, pathOf, prepared, problem, read } from "../../support/admin-calls.ts";
import { downDb } from "../../support/down-db.ts";
import { ADMIN_TOKEN, World } from "../../support/world.ts";

afterEach(() => void vi.restoreAllMocks());

function request(method: string, path: string, headers: Record<string, string>, body?: unknown): Request {
  const json = body === undefined ? {} : { "content-type": "application/json" };
  const text = body === undefined ? null : JSON.stringify(body);
  return new Request(`http://worker${path}`, { method, headers: { ...json, ...headers }, body: text });
}

const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` };

/** The media types of the answers that are not JSON. */
const TYPES: Partial<Record<AdminCallId, string>> = {
  exportSite: "application/x-ndjson",
  readMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

describe("every admin call", () => {
  it("every admin call is 401 and changes nothing without the token; with it, the answer is not cacheable", async () => {
    const world = await prepared(await World.create());
    const before = await world.operated();
    for (const each of CALLS) {
      const answer = await read(await world.fetch(request(each.method, each.path(world), {}, each.body)));
      expect([each.name, answer.status, answer.body]).toEqual([each.name, 401, problem(401, "Unauthorized").body]);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect(answer.headers.get("content-type")).toBe("application/problem+json");
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
    expect(await world.operated()).toEqual(before);
    for (const each of CALLS) {
      await each.before?.(world);
      const { ok, status, headers } = await world.fetch(request(each.method, each.path(world), bearer, each.body));
      expect([each.name, ok, headers.get("cache-control")]).toEqual([each.name, true, "no-store"]);
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
      const type = TYPES[each.id] ?? "application/json";
      if (status !== 204) expect([each.name, headers.get("content-type")]).toEqual([each.name, type]);
    }
  });

  it("every admin call is 503 when D1 is down, or answers without the home that is down and names it", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const world = await World.create({ DB: downDb(env.DB) });
    const partialCalls = new Set<string>();
    for (const { name, method, path, body: input } of CALLS) {
      const { status, headers, body } = await read(await world.fetch(request(method, path(world), bearer, input)));
      const expected = MAIN_DOWN[name];
      if (expected !== undefined) {
        expect([name, status, body]).toEqual([name, 200, expected]);
        partialCalls.add(name);
        continue;
      }
      const { homes_down: _, ...rest } = body as Record<string, unknown>;
      expect([name, status, rest]).toEqual([name, 503, problem(503, "Temporarily unavailable").body]);
      expect(headers.get("content-type")).toBe("application/problem+json");
      expect(headers.get("retry-after")).toBe("1");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(JSON.stringify(body)).not.toContain("D1");
    }
    expect(partialCalls).toEqual(new Set(Object.keys(MAIN_DOWN)));
  });
});

/** For tests that change nothing. */
let shared: World;
beforeAll(async () => {
  shared = await World.create();
});

describe("the admin token", () => {
  const access = async (authorization: string | undefined, change: Partial<Bindings> = {}) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    return (await shared.anotherIsolate(change).fetch(request("GET", "/admin/sites", headers))).status;
  };

  it.each([
    ["of any case in the scheme", `bearer ${ADMIN_TOKEN}`],
    ["after several blanks", `Bearer   ${ADMIN_TOKEN}`],
  ])("the admin token is accepted %s", async (_, authorization) => {
    expect(await access(authorization)).toBe(200);
  });

  it.each([
    ["none", undefined],
    ["an empty header", ""],
    ["the scheme alone", "Bearer"],
    ["the token alone", ADMIN_TOKEN],
    ["another scheme", `Basic ${ADMIN_TOKEN}`],
    ["a wrong token", `Bearer ${ADMIN_TOKEN.slice(0, -1)}x`],
    ["a short token", `Bearer ${ADMIN_TOKEN.slice(0, -1)}`],
    ["a longer token", `Bearer ${ADMIN_TOKEN}x`],
    ["another case", `Bearer ${ADMIN_TOKEN.toUpperCase()}`],
    ["two tokens", `Bearer ${ADMIN_TOKEN} ${ADMIN_TOKEN}`],
    ["a list", `Bearer x, Bearer ${ADMIN_TOKEN}`],
  ])("an admin call is 401 for a wrong Authorization header: %s", async (_, authorization) => {
    expect(await access(authorization)).toBe(401);
  });

  it.each([
    ["missing", undefined],
    ["empty", ""],
    ["short", "abcdefghijklmnopqrstuvwxyz01234"],
    ["a placeholder", "change-me-0123456789-abcdefghijklmnop"],
  ])("no token opens the admin API when ADMIN_TOKEN is %s", async (_, token) => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const change = { ADMIN_TOKEN: token } as unknown as Partial<Bindings>;
    for (const text of [token, undefined, "undefined", ADMIN_TOKEN]) {
      expect(await access(`Bearer ${text ?? ""}`, change)).toBe(401);
    }
  });

  it.each([
    ["is not set", ""],
    ["holds a blank", `${ADMIN_TOKEN} ${ADMIN_TOKEN}`],
    ["holds a line break", `${ADMIN_TOKEN}\n${ADMIN_TOKEN}`],
    ["holds a character that is not ASCII", `${ADMIN_TOKEN}é`],
    ["is shorter than 32 characters", ADMIN_TOKEN.slice(0, 31)],
  ])(
    "the 401 answer explains why nobody can sign in when ADMIN_TOKEN %s, without showing the token",
    async (fault, token) => {
      vi.spyOn(console, "warn").mockImplementation(() => {});
      const world = shared.anotherIsolate({ ADMIN_TOKEN: token });
      const { status, headers, body } = await read(await world.fetch(request("GET", "/admin/sites", bearer)));
      expect({ status, body }).toEqual(problem(401, "Unauthorized"));
      expect(headers.get("www-authenticate")).toBe("Bearer");
      const { detail } = body as { detail: string };
      expect(detail).toBe(`No token opens this deployment: its ADMIN_TOKEN ${fault}.`);
      if (token !== "") expect(JSON.stringify(body)).not.toContain(token.slice(0, 8));
    },
  );

  it.each(["\n", "\r\n", " "])(
    "the admin token opens the API when ADMIN_TOKEN was set with %j at its end, as from a file",
    async (end) => {
      expect(await access(`Bearer ${ADMIN_TOKEN}`, { ADMIN_TOKEN: ADMIN_TOKEN + end } as Partial<Bindings>)).toBe(200);
    },
  );

  it("signed calls work without ADMIN_TOKEN", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const world = await World.create({ ADMIN_TOKEN: undefined } as unknown as Partial<Bindings>);
    expect((await world.create()).status).toBe(200);
  });

  it("only calls with a wrong admin token count towards the limit of a client address", async () => {
    const keys: string[] = [];
    const CLIENT_LIMIT = {
      limit: async ({ key }: { key: string }) => {
        keys.push(key);
        return { success: keys.length <= 2 };
      },
    } as unknown as RateLimit;
    const world = await World.create({ CLIENT_LIMIT });
    const from = { "cf-connecting-ip": "192.0.2.7" };
    const send = async (headers: Record<string, string>) =>
      read(await world.fetch(request("GET", "/admin/sites", { ...from, ...headers })));
    expect((await send({})).status).toBe(401);
    expect((await send({ authorization: "Bearer wrong" })).status).toBe(401);
    const answer = await send({ authorization: "Bearer wrong" });
    expect({ status: answer.status, body: answer.body }).toEqual(problem(429, "Too many requests"));
    expect(answer.headers.get("retry-after")).toBe("60");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect((await send(bearer)).status).toBe(200);
    expect(keys).toEqual(Array(3).fill("operator 192.0.2.7"));
  });
});

describe("a path under /admin", () => {
  it.each([
    ["GET", "/admin"],
    ["GET", "/admin/"],
    ["GET", "/admin/nothing"],
    ["POST", "/admin/sites/"],
    ["GET", "/admin/homes/"],
    ["POST", "/admin/homes/main"],
    ["GET", "/admin/sites/1/apps/x"],
    ["POST", "/admin/apps"],
    ["GET", "/admin/sites/1/agents/1/more"],
    ["GET", "/admin/sites/1/webhooks/"],
    ["POST", "/admin/sites/1/webhooks/wh/deliveries/1"],
    ["POST", "/admin/sites/1/webhooks/wh/redeliver"],
    ["GET", "/admin/sites/1/events/1"],
  ])("%s %s is no call of the admin API: 404 with a token, 401 without", async (method, path) => {
    const answer = await read(await shared.fetch(request(method, path, bearer)));
    expect({ status: answer.status, body: answer.body }).toEqual(problem(404, "Not found"));
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect((await shared.fetch(request(method, path, {}))).status).toBe(401);
  });

  it("an admin call with a wrong method is a 405 problem that names the allowed methods, or 401 without the token", async () => {
    for (const [path, calls] of Map.groupBy(ADMIN_CALLS, (call) => pathOf(call, shared))) {
      const methods = calls.map(({ method }) => method.toUpperCase());
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"].filter((other) => !methods.includes(other))) {
        const { status, headers, body } = await read(await shared.fetch(request(method, path, bearer)));
        expect([method, path, status, body]).toEqual([method, path, 405, problem(405, "Method not allowed").body]);
        expect(headers.get("allow")).toBe(methods.join(", "));
        expect((await shared.fetch(request(method, path, {}))).status).toBe(401);
      }
    }
  });

  it("a problem answer of the admin API keeps its own status when ERROR_STATUS is always-200", async () => {
    const world = await World.create({ ERROR_STATUS: "always-200" } as unknown as Partial<Bindings>);
    expect((await world.fetch(request("GET", "/admin/nothing", bearer))).status).toBe(404);
    expect((await world.fetch(request("GET", "/admin/sites", {}))).status).toBe(401);
  });

  it("a path that only begins like /admin is answered in the envelope of signed calls", async () => {
    const { status, body } = await read(await shared.fetch(request("GET", "/administrator", bearer)));
    expect({ status, body }).toEqual({ status: 404, body: { code: -1, msg: "接口不存在", data: "" } });
  });

  it("an admin call is a 500 problem when the deployment is not configured, and the log says why", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const world = await World.create({ MASTER_KEY: "changeme" });
    const { status, headers, body } = await read(await world.fetch(request("GET", "/admin/sites", bearer)));
    expect({ status, body }).toEqual(problem(500, "Internal error"));
    expect(headers.get("cache-control")).toBe("no-store");
    expect(error).toHaveBeenCalledTimes(1);
    expect(JSON.parse(String(error.mock.calls[0]?.[0]))).toMatchObject({
      reason: "configuration",
      fault: "ConfigurationError: MASTER_KEY must be 32 bytes in base64",
    });
  });
});
