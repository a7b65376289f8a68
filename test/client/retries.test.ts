import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newSession, refusal, service } from "./service.ts";

/** The pauses between tries, in milliseconds. They are cut short. */
const pauses = vi.hoisted(() => ({ asked: [] as number[] }));

vi.mock(import("../../src/client/within-limit.ts"), async (original) => {
  const module = await original();
  return {
    ...module,
    pause(milliseconds, signal) {
      pauses.asked.push(milliseconds);
      return module.pause(1, signal);
    },
  };
});

beforeEach(() => {
  pauses.asked = [];
});

afterEach(() => {
  vi.restoreAllMocks();
});

const LOST = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
const busy = (seconds?: number) => () =>
  refusal(429, "请求过于频繁", seconds === undefined ? {} : { "retry-after": String(seconds) });
const away = (seconds?: number) => () =>
  refusal(503, "服务暂时不可用", seconds === undefined ? {} : { "retry-after": String(seconds) });
const html =
  (status: number, headers = {}) =>
  () =>
    new Response("<html><h1>502 Bad Gateway</h1></html>", {
      status,
      headers: { "content-type": "text/html", ...headers },
    });

describe("a try that failed", () => {
  it("opens exactly one session when the answer was lost, and gives its chat id", async () => {
    const { world, client, sent } = await service(["drop_answer"]);
    const { chatId, replayed } = await client.createSession(newSession());
    expect(replayed).toBe(true);
    expect(sent).toHaveLength(2);
    const { sessions, messages, customers } = await world.stored();
    expect(sessions).toMatchObject([{ id: chatId }]);
    expect(messages).toHaveLength(1);
    expect(customers).toHaveLength(1);
  });

  it("adds agents once when the answer was lost", async () => {
    const { world, client } = await service([undefined, "drop_answer", "drop_answer"]);
    const { chatId } = await client.createSession(newSession({ agentIds: [1] }));
    expect(await client.addAgents({ chatId, agentIds: [2] })).toMatchObject({ replayed: true });
    expect((await world.stored()).participants).toMatchObject([{ agent_id: 2 }]);
  });

  it("is signed anew with a timestamp and ranstr of its own, under the same key", async () => {
    const { world, client, sent } = await service([LOST, away(), "drop_answer"]);
    await client.createSession(newSession());
    expect(sent).toHaveLength(4);
    expect(new Set(sent.map(({ fields }) => fields.ranstr)).size).toBe(4);
    expect(new Set(sent.map(({ headers }) => headers.get("x-chat-signature"))).size).toBe(4);
    expect(new Set(sent.map(({ headers }) => headers.get("idempotency-key"))).size).toBe(1);
    expect((await world.stored()).nonces).toHaveLength(2);
    const [first, ...others] = sent.map(({ fields: { timestamp: _, ranstr: __, ...rest } }) => rest);
    for (const other of others) expect(other).toEqual(first);
  });

  it("takes the clock anew: a try after a long pause is not stale", async () => {
    const start = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(start);
    const { world, client, sent } = await service([
      () => {
        clock.mockReturnValue(start + 600_000);
        world.clock.now = Math.floor(start / 1000) + 600;
        return away()();
      },
    ]);
    await client.createSession(newSession());
    expect(Number(sent[1]?.fields.timestamp) - Number(sent[0]?.fields.timestamp)).toBe(600);
  });

  it.each([
    ["the connection", "network", undefined, LOST],
    ["the service, unavailable", "unavailable", 503, away()],
    ["a proxy that found nobody behind it", "unavailable", 502, html(502)],
    ["a proxy in a JSON of its own", "unavailable", 504, () => Response.json({ message: "timeout" }, { status: 504 })],
    ["the rate limit", "too_many_requests", 429, busy()],
    ["a proxy's rate limit", "too_many_requests", 429, html(429)],
    ["an unavailable service that answers 200 always", "unavailable", 200, () => refusal(200, "服务暂时不可用")],
    ["a rate limit that answers 200 always", "too_many_requests", 200, () => refusal(200, "请求过于频繁")],
  ])("because of %s is repeated, four tries in all", async (_, code, status, mishap) => {
    const once = await service([mishap]);
    expect(await once.client.createSession(newSession())).toMatchObject({ chatId: expect.any(Number) });
    const ever = await service([mishap, mishap, mishap, mishap, mishap]);
    await expect(ever.client.createSession(newSession())).rejects.toMatchObject({ code, status });
    expect(ever.sent).toHaveLength(4);
  });

  it("counts maxTries with the first", async () => {
    const { client, sent } = await service([LOST, LOST], { maxTries: 1 });
    await expect(client.createSession(newSession())).rejects.toMatchObject({
      code: "network",
      message: "no answer from http://worker: fetch failed: connect ECONNREFUSED",
      cause: LOST,
    });
    expect(sent).toHaveLength(1);
  });

  it.each([
    ["a refusal", "invalid_parameters", () => refusal(400, "参数错误")],
    ["a fault of the deployment", "internal", () => refusal(500, "系统错误")],
    ["an HTML page", "unexpected", html(200)],
    ["a proxy's 403", "unexpected", html(403)],
    ["a redirect", "unexpected", html(307, { location: "https://elsewhere.example/" })],
    ["JSON that is no envelope", "unexpected", () => Response.json([1, "msg"])],
  ])("because of %s is not repeated", async (_, code, mishap) => {
    const { client, sent } = await service([mishap]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({ code });
    expect(sent).toHaveLength(1);
  });

  it("does not follow a redirect, and says where it would have led", async () => {
    const { client, sent } = await service([html(301, { location: "https://elsewhere.example/" })]);
    await expect(client.createSession(newSession())).rejects.toThrow(
      "HTTP 301 with a redirect to https://elsewhere.example/: not an answer of this service",
    );
    expect(sent[0]?.redirect).toBe("manual");
  });
});

describe("without a key", () => {
  it.each([
    ["a lost connection", "network", LOST],
    ["a lost answer", "network", "drop_answer"],
    ["a 503", "unavailable", away(1)],
    ["a proxy's 502", "unavailable", html(502)],
  ] as const)("%s is final, because the call may have been done", async (_, code, mishap) => {
    const { world, client, sent } = await service([mishap]);
    await expect(client.createSession(newSession(), { idempotencyKey: false })).rejects.toMatchObject({ code });
    expect(sent).toHaveLength(1);
    expect((await world.stored()).sessions).toHaveLength(mishap === "drop_answer" ? 1 : 0);
  });

  it("a 429 is tried again, because it did nothing", async () => {
    const { world, client, sent } = await service([busy(1)]);
    await client.createSession(newSession(), { idempotencyKey: false });
    expect(sent).toHaveLength(2);
    expect((await world.stored()).sessions).toHaveLength(1);
  });
});

describe("the pause", () => {
  it("doubles, with jitter", async () => {
    const { client } = await service([LOST, LOST, LOST, LOST, LOST, LOST, LOST], { maxTries: 8 });
    await client.createSession(newSession());
    expect(pauses.asked).toHaveLength(7);
    for (const [index, longest] of [250, 500, 1000, 2000, 4000, 8000, 8000].entries()) {
      expect(pauses.asked[index]).toBeGreaterThanOrEqual(longest / 2);
      expect(pauses.asked[index]).toBeLessThanOrEqual(longest);
    }
    const other = await service([LOST, LOST]);
    await other.client.createSession(newSession());
    expect(pauses.asked.slice(7)).not.toEqual(pauses.asked.slice(0, 2));
  });

  it.each([
    ["429", busy(7)],
    ["503", away(7)],
    ["proxy's 503", html(503, { "retry-after": "7" })],
  ])("is never shorter than the Retry-After of a %s", async (_, mishap) => {
    const { client } = await service([mishap]);
    await client.createSession(newSession());
    expect(pauses.asked).toHaveLength(1);
    expect(pauses.asked[0]).toBeGreaterThan(7000);
    expect(pauses.asked[0]).toBeLessThanOrEqual(7250);
  });

  it("is not begun when more than a minute is asked for: the error tells how long", async () => {
    const { client, sent } = await service([busy(61)]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({
      code: "too_many_requests",
      retryAfter: 61,
    });
    expect(sent).toHaveLength(1);
    expect(pauses.asked).toEqual([]);
  });

  it("takes no notice of a Retry-After that is no number of seconds", async () => {
    const { client } = await service([html(503, { "retry-after": "Fri, 31 Dec 2027 23:59:59 GMT" })]);
    await client.createSession(newSession());
    expect(pauses.asked[0]).toBeLessThanOrEqual(250);
  });
});

describe("the real rate limit", () => {
  it("is waited for as long as the service says, and the call is done once", async () => {
    let asked = 0;
    const APP_LIMIT = { limit: async () => ({ success: ++asked > 1 }) };
    const { world, client, sent } = await service([], {}, { APP_LIMIT });
    await client.createSession(newSession());
    expect(sent).toHaveLength(2);
    expect(pauses.asked[0]).toBeGreaterThan(10_000);
    expect((await world.stored()).sessions).toHaveLength(1);
  });
});
