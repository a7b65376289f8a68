import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { Isolate } from "../../support/isolate.ts";
import { INVALID_PARAMETERS, SIGNED_ROUTES, TOKEN_INVALID } from "../../support/signed-routes.ts";
import { type ReplacedBindings, World } from "../../support/world.ts";

const failure = (msg: string) => ({ code: -1, msg, data: "" });
const CREATE = "/openapi/chat/create_gd";
const ADD = "/openapi/chat/add_kf";
const OTHER_KEY = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";

const ofType = (type: string) => ({ detail: `Content-Type: must be application/json, and is ${type}` });
const ENCODING = { detail: "Content-Encoding: must be absent" };
const NOT_JSON = {
  detail: "body: must be JSON as a library writes it: double quotes, no comma at the end, no line break in a string",
};
const METHOD = "method: must be POST (a redirect, as from http to https, may have changed it)";
const UTF8 = "body: must be UTF-8";
const CUT = 'body: must end with "}": Content-Length counts bytes, not characters';
const CALLS = { detail: `the calls are ${OPERATIONS.map(({ path }) => `POST ${path}`).join(" and ")}` };
const NO_BODY = { detail: "body: is required" };
const NO_APPID = { detail: "appid: must be a string of 1 to 64 characters" };

/** Every failure that needs no signature, with the answer that a caller gets. */
const FAILURES: [
  name: string,
  path: string,
  init: RequestInit,
  status: number,
  msg: string,
  more?: { allow?: string; detail?: string },
][] = [
  ["an unknown path", "/nowhere", { method: "POST" }, 404, "接口不存在", CALLS],
  ...["POST", "PUT", "DELETE", "OPTIONS"].map((method): (typeof FAILURES)[number] => [
    `${method} on the root`,
    "/",
    { method },
    404,
    "接口不存在",
    CALLS,
  ]),
  ["a longer path", `${CREATE}/x`, { method: "POST" }, 404, "接口不存在", CALLS],
  ["a path in upper case", CREATE.toUpperCase(), { method: "POST" }, 404, "接口不存在", CALLS],
  ...OPERATIONS.flatMap(({ wireName, path }) =>
    ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"].map((method): (typeof FAILURES)[number] => [
      `${method} on ${wireName}`,
      path,
      { method },
      405,
      "请求方法错误",
      { allow: "POST", detail: METHOD },
    ]),
  ),
  ["no content type", CREATE, { method: "POST", body: new Uint8Array(2) }, 415, "参数错误", ofType("missing")],
  ["text", ADD, post("{}", { "content-type": "text/plain" }), 415, "参数错误", ofType("text/plain")],
  [
    "a form",
    CREATE,
    post("a=1", { "content-type": "application/x-www-form-urlencoded" }),
    415,
    "参数错误",
    ofType("application/x-www-form-urlencoded"),
  ],
  [
    "JSON of another kind",
    CREATE,
    post("{}", { "content-type": "application/json-patch+json" }),
    415,
    "参数错误",
    ofType("application/json-patch+json"),
  ],
  [
    "two content types",
    CREATE,
    post("{}", { "content-type": "application/json, text/plain" }),
    415,
    "参数错误",
    ofType("application/json, text/plain"),
  ],
  ["a coded body", CREATE, post("{}", { "content-encoding": "gzip" }), 415, "参数错误", ENCODING],
  ["an identity coding", ADD, post("{}", { "content-encoding": "identity" }), 415, "参数错误", ENCODING],
  ["no body", CREATE, { method: "POST", headers: { "content-type": "application/json" } }, 400, "参数错误", NO_BODY],
  ["an empty body", ADD, post(""), 400, "参数错误", NO_BODY],
  ["a body that is not JSON", CREATE, post("appid=1"), 400, "参数错误", NOT_JSON],
  ...[
    ["an array", "[]", "an array"],
    ["a string", '"{"', "a string"],
    ["null", "null", "null"],
    ["a JSON text", JSON.stringify('{"appid":"a"}'), "a string of JSON: it was serialised twice"],
  ].map(([name, body, not]): (typeof FAILURES)[number] => [
    `a body that is ${name}`,
    ADD,
    post(String(body)),
    400,
    "参数错误",
    { detail: `body: must be a JSON object, not ${not}` },
  ]),
  ["a byte order mark", ADD, post("\ufeff{}"), 400, "参数错误", { detail: "body: must have no byte order mark" }],
  ["bytes that are no UTF-8", CREATE, post(Uint8Array.of(0xff)), 400, "参数错误", { detail: UTF8 }],
  ...[
    ["gzip", Uint8Array.of(0x1f, 0x8b, 8), `${UTF8}, not compressed`],
    ["UTF-16 with its mark", Uint8Array.of(0xff, 0xfe, 0x7b, 0), `${UTF8}, not UTF-16`],
    ["big-endian UTF-16 with its mark", Uint8Array.of(0xfe, 0xff, 0, 0x7b), `${UTF8}, not UTF-16`],
    ["UTF-16", Uint8Array.of(0x7b, 0, 0x7d, 0), `${NOT_JSON.detail}, not UTF-16`],
    ["big-endian UTF-16", Uint8Array.of(0, 0x7b, 0, 0x7d), `${NOT_JSON.detail}, not UTF-16`],
    ["cut off", '{"content":"a', CUT],
    ["cut off in a character", new TextEncoder().encode('{"content":"订').slice(0, -1), CUT],
    ["no JSON with a line end after it", "{'a':1} \n", NOT_JSON.detail],
    ["two objects", '{"a":1}{"b":2}', NOT_JSON.detail],
  ].map(([name, body, detail]): (typeof FAILURES)[number] => [
    `a body that is ${name}`,
    CREATE,
    post(body as BodyInit),
    400,
    "参数错误",
    { detail: String(detail) },
  ]),
  ["no appid", ADD, post('{"Appid":"a"}'), 400, "参数错误", { detail: "appid: is required" }],
  ["an empty appid", ADD, post('{"appid":""}'), 400, "参数错误", NO_APPID],
  ["an appid of 65 characters", CREATE, post(`{"appid":"${"a".repeat(65)}"}`), 400, "参数错误", NO_APPID],
  ["a numeric appid", CREATE, post('{"appid":1}'), 400, "参数错误", { detail: `${NO_APPID.detail}, not a number` }],
  [
    "an appid of 64 characters",
    CREATE,
    post(`{"appid":"${"👍".repeat(64)}"}`),
    401,
    "token验证失败!",
    { detail: "x-chat-signature: is required" },
  ],
  ["too long a body", ADD, post("x".repeat(65_537)), 413, "参数错误", { detail: "body: must be at most 65536 bytes" }],
];

function post(body: BodyInit, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body, headers: { "content-type": "application/json", ...headers } };
}

describe("a failure", () => {
  const isolate = new Isolate();
  const always200 = new Isolate({ ERROR_STATUS: "always-200" });
  let world: World;
  beforeAll(async () => {
    world = await World.create();
  });

  it.each(FAILURES)(
    "a failure is an envelope with a request id and its status, or 200 under always-200: %s",
    async (_, path, init, status, msg, { allow = null, detail = null } = {}) => {
      for (const [target, expected] of [
        [isolate, status],
        [always200, 200],
      ] as const) {
        const { headers, ...response } = await answerOf(target.fetch(request(path, init)));
        expect(response).toEqual({ status: expected, envelope: failure(msg) });
        expect([headers.get("allow"), headers.get("x-error-detail")]).toEqual([allow, detail]);
        expect(headers.get("content-type")).toMatch(/^application\/json/);
        expectOwnRequestId(headers);
      }
    },
  );

  it.each([
    ["token_invalid", (world: World) => world.create({ timestamp: 1 }), TOKEN_INVALID],
    ["invalid_parameters", (world: World) => world.create({ sbs: null }), INVALID_PARAMETERS],
    ["agents_invalid", (world: World) => world.create({ kefu_id: [1, 404] }), INVALID_PARAMETERS],
    ["session_not_found", (world: World) => world.add(404_404), failure("会话不存在")],
    [
      "state_forbids",
      async (world: World) => world.add(await world.chatId(), { kefu_ids: [1] }),
      failure("当前状态不允许操作"),
    ],
  ])("a failed signed request has status 200 under always-200: %s", async (_, act, envelope) => {
    const answer = await act(world.anotherIsolate({ ERROR_STATUS: "always-200" }));
    expect({ status: answer.status, envelope: answer.envelope }).toEqual({ status: 200, envelope });
    expect(answer.headers.has("x-error-detail")).toBe(true);
    expectOwnRequestId(answer.headers);
  });

  it.each<[string, ReplacedBindings]>([
    ["DB is not bound", { DB: undefined }],
    ["MASTER_KEY is not set", { MASTER_KEY: undefined }],
    ["MASTER_KEY is empty", { MASTER_KEY: "" }],
    ["MASTER_KEY is not base64", { MASTER_KEY: "not base64!" }],
    ["MASTER_KEY is short", { MASTER_KEY: "AAEC" }],
    ["MASTER_KEY is a placeholder", { MASTER_KEY: `${"A".repeat(43)}=` }],
    ["MASTER_KEY is another one", { MASTER_KEY: OTHER_KEY }],
    ["a var makes no sense", { REPLAY_LOOK_MS: "soon" }],
  ])("a wrong setting is 500 系统错误, or 200 under always-200, and no wrong signature: %s", async (_, bindings) => {
    const { nonces } = await world.stored();
    for (const [ERROR_STATUS, expected] of [
      ["by-cause", 500],
      ["always-200", 200],
    ] as const) {
      const broken = world.anotherIsolate({ ...bindings, ERROR_STATUS });
      for (const { operation, acceptable } of SIGNED_ROUTES) {
        const { status, envelope, headers } = await broken.send(operation, await acceptable(world));
        expect({ status, envelope }).toEqual({ status: expected, envelope: failure("系统错误") });
        expect(headers.has("x-error-detail")).toBe(false);
        expectOwnRequestId(headers);
      }
    }
    expect((await world.stored()).nonces).toEqual(nonces);
  });

  it("a wrong MASTER_KEY is 500, also when KV holds the record", async () => {
    expect((await world.create()).status).toBe(200);
    expect(await env.CREDENTIALS.get(`app:${world.appid}`)).not.toBeNull();
    expect((await world.anotherIsolate({ MASTER_KEY: OTHER_KEY }).create()).status).toBe(500);
  });
});

const CALLERS_ID = "11111111-2222-4333-8444-555555555555";

function request(path: string, init: RequestInit): Request {
  const result = new Request(`http://worker${path}`, init);
  result.headers.set("x-request-id", CALLERS_ID);
  return result;
}

async function answerOf(call: Promise<Response>) {
  const response = await call;
  return { status: response.status, headers: response.headers, envelope: await response.json() };
}

function expectOwnRequestId(headers: Headers): void {
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(headers.get("x-request-id")).not.toBe(CALLERS_ID);
}
