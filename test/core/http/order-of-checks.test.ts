import { beforeAll, describe, expect, it } from "vitest";
import { expectUnwritten, SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { type Answer, type Body, hmac, NOW, World } from "../../support/world.ts";

const FORGED = { "x-chat-signature": "0".repeat(64) };
const LARGE = "x".repeat(64 * 1024 + 1);

/** Each request fails at least two checks, and the earlier check answers. The cases are in the order of the checks. */
const CASES: [string, (world: World, body: Body) => Promise<[body: string, headers: HeadersInit]>, Expected][] = [
  [
    "media type before size",
    async () => [LARGE, { "content-type": "text/plain" }],
    { status: 415, detail: "Content-Type: must be application/json, and is text/plain" },
  ],
  [
    "coding before size",
    async () => [LARGE, { "content-encoding": "gzip" }],
    { status: 415, detail: "Content-Encoding: must be absent" },
  ],
  ["size before JSON", async () => [LARGE, {}], { status: 413, detail: "body: must be at most 65536 bytes" }],
  [
    "JSON before signature",
    async () => ["{,}", {}],
    {
      status: 400,
      detail:
        "body: must be JSON as a library writes it: double quotes, no comma at the end, no line break in a string",
    },
  ],
  [
    "a string appid before signature",
    async (_, body) => [text(body, { appid: 7 }), FORGED],
    { status: 400, detail: "appid: must be a string of 1 to 64 characters, not a number" },
  ],
  ["signature before types", async (_, body) => [text(body, { timestamp: "now" }), FORGED], { status: 401 }],
  ["signature before freshness", async (_, body) => [text(body, { timestamp: 1 }), FORGED], { status: 401 }],
  [
    "signature before replay",
    async (world, body) => [text(body, { ranstr: await usedRanstr(world) }), FORGED],
    { status: 401 },
  ],
  ["signature before fields", async (_, body) => [text(body, NO_FIELDS), FORGED], { status: 401 }],
  ["signature before Idempotency-Key", async (_, body) => [text(body), { ...FORGED, ...BAD_KEY }], { status: 401 }],
  [
    "the type of ranstr before freshness",
    (world, body) => signBody(world, { ...body, timestamp: NOW - 301, ranstr: 1 }),
    { status: 400, detail: "ranstr: must be a string of 1 to 128 characters, not a number" },
  ],
  [
    "freshness before fields",
    (world, body) => signBody(world, { ...body, timestamp: NOW - 301, ...NO_FIELDS }),
    { status: 401, detail: `timestamp: must be within 300 s of ${NOW}, Unix seconds` },
  ],
  [
    "freshness before replay",
    async (world, body) => signBody(world, { ...body, timestamp: NOW - 301, ranstr: await usedRanstr(world) }),
    { status: 401, detail: `timestamp: must be within 300 s of ${NOW}, Unix seconds` },
  ],
  [
    "replay before fields",
    async (world, body) => signBody(world, { ...body, ranstr: await usedRanstr(world), ...NO_FIELDS }),
    { status: 401, detail: "ranstr: was already used" },
  ],
];

const NO_FIELDS = { sbs: undefined, ip: null, kefu_id: [], kefu_ids: "", chat_id: null };
const BAD_KEY = { "idempotency-key": "not visible" };

interface Expected {
  status: number;
  detail?: string;
}

describe.each(SIGNED_ROUTES)("order of checks of $operation", ({ operation, acceptable }) => {
  let world: World;
  beforeAll(async () => {
    world = await World.create({ REPLAY_LOOK_MS: "1000" });
  });

  it.each(CASES)("the earlier of two failed checks answers: %s", async (_, request, expected) => {
    const [body, headers] = await request(world, await acceptable(world));
    expectAnswer(await expectUnwritten(world, () => world.sendRaw(operation, body, headers)), expected);
  });
});

describe("order of checks", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.create();
  });

  it("all fields of create_gd are checked before the agents are looked up", async () => {
    const answer = await expectUnwritten(world, () => world.create({ kefu_id: [404], fzr_uid: 404, sbs_mc: "" }));
    expectAnswer(answer, { status: 400, detail: "sbs_mc: must be a string of 1 to 30 characters" });
  });

  it("all fields of add_kf are checked before the session is looked up", async () => {
    const answer = await expectUnwritten(world, () => world.add(404, { kefu_ids: "x" }));
    expectAnswer(answer, { status: 400, detail: expect.stringMatching(/^kefu_ids: item 1 must be /) as string });
  });

  it("the method is checked before the body, and the path before the method", async () => {
    const ask = async (path: string) =>
      (await world.fetch(new Request(`http://worker${path}`, { method: "PUT" }))).status;
    expect(await ask("/openapi/chat/create_gd")).toBe(405);
    expect(await ask("/openapi/chat/create_gd/x")).toBe(404);
  });
});

function expectAnswer({ status, headers }: Answer, expected: Expected): void {
  expect({ status, detail: headers.get("x-error-detail") ?? undefined }).toEqual({ detail: undefined, ...expected });
}

const text = (body: Body, change: Body = {}) => JSON.stringify({ ...body, ...change });

async function signBody(world: World, body: Body): Promise<[string, HeadersInit]> {
  const bytes = JSON.stringify(body);
  return [bytes, { "x-chat-signature": await hmac(world.secret, bytes) }];
}

async function usedRanstr(world: World): Promise<string> {
  const body = world.createBody();
  expect((await world.send("create_gd", body)).envelope.code).toBe(1);
  return String(body.ranstr);
}
