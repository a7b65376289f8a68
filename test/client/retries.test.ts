import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AgentSessionClient, type AgentSessionError } from "../../src/client/client.ts";
import { newSession, ownService, refusal, sharedService } from "./service.ts";

const service = sharedService();

/** The backoffs between tries, in milliseconds. The tests cut them short. */
const backoffs = { delays: [] as number[] };

beforeEach(() => {
  backoffs.delays = [];
  const original = globalThis.setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((callback: () => void, milliseconds: number) => {
    // Only the client's backOff() may be cut short, because the service and the time limit of a try set timers too.
    const isBackoff = new Error().stack?.includes("at backOff ") ?? false;
    if (isBackoff) backoffs.delays.push(milliseconds);
    return original(callback, isBackoff ? 1 : milliseconds);
  }) as typeof setTimeout);
});

afterEach(() => {
  vi.restoreAllMocks();
});

const CREATE = "POST http://worker/openapi/chat/create_gd";
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

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  () =>
    Response.json(body, { status, headers });
/** An endless answer, in chunks of 64 KiB. */
const endless = (status: number, cancel = () => {}) =>
  new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(65_536).fill(32)), cancel }), { status });

describe("a failed try", () => {
  it("a retried call opens exactly one session when the answer was lost, and returns its chat id", async () => {
    const { world, client, sent } = await ownService(["drop_answer"]);
    const { chatId, replayed } = await client.createSession(newSession());
    expect(replayed).toBe(true);
    expect(sent).toHaveLength(2);
    const { sessions, messages, customers } = await world.stored();
    expect(sessions).toMatchObject([{ id: chatId }]);
    expect(messages).toHaveLength(1);
    expect(customers).toHaveLength(1);
  });

  it("a retried call adds agents once when the answer was lost", async () => {
    const { world, client } = await ownService([undefined, "drop_answer", "drop_answer"]);
    const { chatId } = await client.createSession(newSession({ agentIds: [1] }));
    expect(await client.addAgents({ chatId, agentIds: [2] })).toMatchObject({ replayed: true });
    expect((await world.stored()).participants).toMatchObject([{ agent_id: 2 }]);
  });

  it("each retry is signed again with a new timestamp and ranstr, under the same key", async () => {
    const { world, client, sent } = await ownService([LOST, away(), "drop_answer"]);
    await client.createSession(newSession());
    expect(sent).toHaveLength(4);
    expect(new Set(sent.map(({ fields }) => fields.ranstr)).size).toBe(4);
    expect(new Set(sent.map(({ headers }) => headers.get("x-chat-signature"))).size).toBe(4);
    expect(new Set(sent.map(({ headers }) => headers.get("idempotency-key"))).size).toBe(1);
    expect((await world.stored()).nonces).toHaveLength(2);
    const [first, ...others] = sent.map(({ fields: { timestamp: _, ranstr: __, ...rest } }) => rest);
    for (const other of others) expect(other).toEqual(first);
  });

  it("each retry reads the clock again, so a try after a long backoff is not stale", async () => {
    const start = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(start);
    const { world, client, sent } = await ownService([
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
    ["a gateway whose JSON looks like an envelope", "unavailable", 502, json(502, { code: 502, msg: "Bad Gateway" })],
    ["a gateway with a refusal of its own", "unavailable", 504, json(504, { code: -1, msg: "timeout", data: "" })],
    ["a gateway that borrows a message", "unavailable", 502, json(502, { code: -1, msg: "系统错误", data: "" })],
    ["a gateway that says ok", "unavailable", 520, json(520, { code: 1, msg: "ok", data: { chat_id: 5 } })],
    ["a gateway's 500", "unavailable", 500, json(500, { code: -1, msg: "upstream failed" })],
    ["a gateway that waited too long", "unavailable", 408, html(408)],
    ["a gateway with an endless page", "unavailable", 502, () => endless(502)],
    ["the rate limit", "too_many_requests", 429, busy()],
    ["a gateway's rate limit in JSON", "too_many_requests", 429, json(429, { code: 1, msg: "slow down" })],
    ["a proxy's rate limit", "too_many_requests", 429, html(429)],
    ["an unavailable service that answers 200 always", "unavailable", 200, () => refusal(200, "服务暂时不可用")],
    ["a rate limit that answers 200 always", "too_many_requests", 200, () => refusal(200, "请求过于频繁")],
  ])("a call that fails because of %s is tried again, four tries in all", async (_, code, status, mishap) => {
    const once = await service([mishap]);
    expect(await once.client.createSession(newSession())).toMatchObject({ chatId: expect.any(Number) });
    const ever = await service([mishap, mishap, mishap, mishap, mishap]);
    await expect(ever.client.createSession(newSession())).rejects.toMatchObject({ code, status });
    expect(ever.sent).toHaveLength(4);
  });

  it("every failed try counts towards maxTries, also the first one", async () => {
    const { client, sent } = await service([LOST, LOST], { maxTries: 1 });
    await expect(client.createSession(newSession())).rejects.toMatchObject({
      code: "network",
      message: `no answer from ${CREATE}: fetch failed: connect ECONNREFUSED`,
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
    ["JSON that is no envelope", "unexpected", json(200, [1, "msg"])],
    ["an envelope with another code", "unexpected", json(200, { code: 0, msg: "ok", data: "" })],
    ["an endless answer", "unexpected", () => endless(200)],
  ])("a call that fails because of %s is not tried again", async (_, code, mishap) => {
    const { client, sent } = await service([mishap]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({ code });
    expect(sent).toHaveLength(1);
  });

  it("the client does not follow a redirect, and its error names the target", async () => {
    const { client, sent } = await service([html(301, { location: "https://elsewhere.example/" })]);
    await expect(client.createSession(newSession())).rejects.toThrow(
      `${CREATE} did not get an answer of this service: HTTP 301 with a redirect to https://elsewhere.example/`,
    );
    expect(sent[0]?.redirect).toBe("manual");
  });
});

describe("without an idempotency key", () => {
  it.each([
    ["a lost connection", "network", LOST],
    ["a lost answer", "network", "drop_answer"],
    ["a 503", "unavailable", away(1)],
    ["a proxy's 502", "unavailable", html(502)],
    ["a gateway's 502 in JSON", "unavailable", json(502, { code: 502, msg: "Bad Gateway" })],
  ] as const)(
    "without an idempotency key %s is final, because the call may have been done",
    async (_, code, mishap) => {
      const { world, client, sent } = await ownService([mishap]);
      await expect(client.createSession(newSession(), { idempotencyKey: false })).rejects.toMatchObject({ code });
      expect(sent).toHaveLength(1);
      expect((await world.stored()).sessions).toHaveLength(mishap === "drop_answer" ? 1 : 0);
    },
  );

  it("without an idempotency key a 429 is tried again, because it stored nothing", async () => {
    const { world, client, sent } = await ownService([busy(1)]);
    await client.createSession(newSession(), { idempotencyKey: false });
    expect(sent).toHaveLength(2);
    expect((await world.stored()).sessions).toHaveLength(1);
  });
});

describe("retries of a call", () => {
  it("the option retries replaces the client's limit for one call only, upwards or downwards", async () => {
    const { client, sent } = await service(Array(9).fill(LOST), { maxTries: 2 });
    await expect(client.createSession(newSession(), { retries: 0 })).rejects.toMatchObject({ code: "network" });
    expect(sent).toHaveLength(1);
    await expect(client.addAgents({ chatId: 1, agentIds: [1] }, { retries: 2 })).rejects.toThrow("ECONNREFUSED");
    expect(sent).toHaveLength(4);
    await expect(client.createSession(newSession())).rejects.toMatchObject({ code: "network" });
    expect(sent).toHaveLength(6);
  });
});

it("an AbortSignal that outlives the call holds no reference to it", async () => {
  const { signal } = new AbortController();
  const listenSpy = vi.spyOn(signal, "addEventListener");
  const unlistenSpy = vi.spyOn(signal, "removeEventListener");
  const { client } = await service([LOST, busy(0)]);
  await client.createSession(newSession(), { signal });
  expect(listenSpy).toHaveBeenCalledTimes(5);
  for (const [type, listener] of listenSpy.mock.calls) expect(unlistenSpy).toHaveBeenCalledWith(type, listener);
});

describe("the backoff", () => {
  it("the backoff doubles with each try, with jitter", async () => {
    const { client } = await service([LOST, LOST, LOST, LOST, LOST, LOST, LOST], { maxTries: 8 });
    await client.createSession(newSession());
    expect(backoffs.delays).toHaveLength(7);
    for (const [index, longest] of [250, 500, 1000, 2000, 4000, 8000, 8000].entries()) {
      expect(backoffs.delays[index]).toBeGreaterThanOrEqual(longest / 2);
      expect(backoffs.delays[index]).toBeLessThanOrEqual(longest);
    }
    const other = await service([LOST, LOST]);
    await other.client.createSession(newSession());
    expect(backoffs.delays.slice(7)).not.toEqual(backoffs.delays.slice(0, 2));
  });

  it.each([
    ["429", busy(7)],
    ["503", away(7)],
    ["proxy's 503", html(503, { "retry-after": "7" })],
  ])("the backoff is never shorter than the Retry-After of a %s", async (_, mishap) => {
    const { client } = await service([mishap]);
    await client.createSession(newSession());
    expect(backoffs.delays).toHaveLength(1);
    expect(backoffs.delays[0]).toBeGreaterThan(7000);
    expect(backoffs.delays[0]).toBeLessThanOrEqual(7250);
  });

  it("a call ends when the service asks for a wait of more than a minute, and the error says how long", async () => {
    const { client, sent } = await service([busy(61)]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({
      code: "too_many_requests",
      retryAfter: 61,
    });
    expect(sent).toHaveLength(1);
    expect(backoffs.delays).toEqual([]);
  });

  it.each([
    ["of today's form", "Sun, 06 Nov 1994 08:49:37 GMT"],
    ["of the old form", "Sunday, 06-Nov-94 08:49:37 GMT"],
    ["of the oldest form", "Sun Nov  6 08:49:37 1994"],
  ])("the backoff uses the answer's own clock for a Retry-After with a date %s", async (_, until) => {
    const headers = { date: "Sun, 06 Nov 1994 08:49:30 GMT", "retry-after": until };
    const { client } = await service([html(503, headers)]);
    await client.createSession(newSession());
    expect(backoffs.delays[0]).toBeGreaterThan(7000);
    expect(backoffs.delays[0]).toBeLessThanOrEqual(7250);
  });

  it("a Retry-After with a date is compared with this machine's clock when the answer has no Date", async () => {
    const now = Date.UTC(2026, 10, 21);
    vi.spyOn(Date, "now").mockReturnValue(now);
    const { client } = await service([html(503, { "retry-after": new Date(now + 9000).toUTCString() })]);
    await client.createSession(newSession());
    expect(backoffs.delays[0]).toBeGreaterThan(9000);
    expect(backoffs.delays[0]).toBeLessThanOrEqual(9250);
  });

  it("a call ends when its Retry-After has a date that is more than a minute away", async () => {
    const headers = { date: "Sun, 06 Nov 1994 08:49:30 GMT", "retry-after": "Sun, 06 Nov 1994 08:50:31 GMT" };
    const { client, sent } = await service([html(503, headers)]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({ code: "unavailable", retryAfter: 61 });
    expect(sent).toHaveLength(1);
  });

  const [AT_30, AT_37] = ["Sun, 06 Nov 1994 08:49:30 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"];

  it.each([
    ["twice", "7, 7", 7],
    ["twice, the longer one first", "9, 7", 9],
    ["twice, the longer one last, without a blank", "7,9", 9],
    ["with a fraction", "30.0", 30],
    ["with a fraction that counts", "1.5", 2],
    ["with a sign", "+30", 30],
    ["as a power", "3e1", 30],
    ["with leading zeros", "0000000000030", 30],
    ["with its unit", "30s", 30],
    ["with its unit, in quotation marks", '"30 sec"', 30],
    ["with its unit in full", "30 seconds", 30],
    ["beside what is empty, garbage or past", ", soon, -5, 7", 7],
    ["a date, twice", `${AT_37}, ${AT_37}`, 7],
    ["a date beside seconds", `5, ${AT_37},6`, 7],
    ["a date in small letters", AT_37.toLowerCase(), 7],
    ["a date of another zone", "Sun, 06 Nov 1994 16:49:37 +0800", 7],
    ["a date of ISO 8601", "1994-11-06T08:49:37Z", 7],
    ["a date as JavaScript prints it", "Sun Nov 06 1994 00:49:37 GMT-0800 (Pacific Standard Time)", 7],
    ["seconds, while Date came twice", "7", 7, `${AT_30}, ${AT_30}`],
    ["a date, while Date came twice", AT_37, 8, `${AT_30}, Sun, 06 Nov 1994 08:49:29 GMT`],
  ])("the backoff obeys an oddly written Retry-After: %s", async (_, value, seconds, date = AT_30) => {
    const { client } = await service([html(503, { date, "retry-after": value })]);
    await client.createSession(newSession());
    expect(backoffs.delays[0]).toBeGreaterThan(seconds * 1000);
    expect(backoffs.delays[0]).toBeLessThanOrEqual(seconds * 1000 + 250);
  });

  it.each(["30, 61", "60.1", "1e3", "9999999999", "9".repeat(400), "2099-01-01", `${AT_37}, Sun Nov  6 08:50:31 1994`])(
    "a call ends when an oddly written Retry-After asks for more than a minute: %s",
    async (value) => {
      const { client, sent } = await service([html(503, { date: AT_30, "retry-after": value })]);
      const error = await client.createSession(newSession()).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "unavailable" });
      expect((error as AgentSessionError).retryAfter).toBeGreaterThan(60);
      expect(sent).toHaveLength(1);
    },
  );

  it.each(["1m", "1 minute", "1h", "00:02:00", "2 12:00:00", "PT1M", '"30"; x=1', "7, 1m", "1,000"])(
    "a call ends when its Retry-After has a digit and cannot be read: %s",
    async (value) => {
      const { client, sent } = await service([html(503, { "retry-after": value })]);
      await expect(client.createSession(newSession())).rejects.toMatchObject({ retryAfter: Infinity });
      expect(sent).toHaveLength(1);
    },
  );

  it("a Retry-After counts even before a broken or endless body, and beside a corrected clock", async () => {
    const broken = (fails: boolean) => () =>
      new Response(new ReadableStream({ start: (c) => (fails ? c.error(new Error("cut off")) : undefined) }), {
        status: 503,
        headers: { "retry-after": "7" },
      });
    const stale = () =>
      refusal(401, "token验证失败!", {
        "x-error-detail": `timestamp: must be within 300 s of ${Math.floor(Date.now() / 1000)}, Unix seconds`,
        "retry-after": "7",
      });
    const { client } = await service([broken(true), broken(false), stale], { timeoutMs: 1_000 });
    await client.createSession(newSession());
    expect(backoffs.delays.map((each) => Math.floor(each / 1000))).toEqual([7, 7, 7]);
  });

  it.each(["Sun, 06 Nov 1994 08:49:37 GMT", "soon", "-5", "0", "", "Sunday"])(
    "the backoff ignores a Retry-After that is past or cannot be read: %s",
    async (value) => {
      const { client } = await service([html(503, { "retry-after": value })]);
      await client.createSession(newSession());
      expect(backoffs.delays[0]).toBeLessThanOrEqual(250);
    },
  );
});

describe("a machine whose clock is off", () => {
  const stale = (detail: string, headers = {}) =>
    refusal(401, "token验证失败!", { "x-error-detail": detail, ...headers });

  it.each([
    [1000, "by-cause", "a-key"],
    [-1000, "by-cause", false],
    [86_400, "always-200", "a-key"],
    [-301, "always-200", false],
  ] as const)(
    "a machine clock that is off by %i s is corrected with one more try: ERROR_STATUS %s, key %s",
    async (off, mode, key) => {
      const { world, client, sent } = await ownService([], {}, { ERROR_STATUS: mode });
      world.clock.now += off;
      const result = await client.createSession(newSession(), { idempotencyKey: key });
      expect(result.replayed).toBe(false);
      expect(sent).toHaveLength(2);
      expect(Math.abs(Number(sent[1]?.fields.timestamp) - world.clock.now)).toBeLessThan(60);
      expect(sent[1]?.fields.ranstr).not.toBe(sent[0]?.fields.ranstr);
      expect(sent[1]?.headers.get("idempotency-key")).toBe(sent[0]?.headers.get("idempotency-key"));
      expect(backoffs.delays).toEqual([]);
      const { sessions, nonces } = await world.stored();
      expect(sessions).toMatchObject([{ id: result.chatId }]);
      expect(nonces).toHaveLength(1);
    },
  );

  it("the client remembers a corrected clock for later calls", async () => {
    const { world, client, sent } = await ownService();
    world.clock.now -= 1000;
    const { chatId } = await client.createSession(newSession());
    await client.addAgents({ chatId, agentIds: [3] });
    expect((await client.send("create_gd", {})).headers.get("x-error-detail")).not.toContain("timestamp");
    expect(sent).toHaveLength(4);
  });

  it("the client corrects its clock again after the machine's clock was set right", async () => {
    const { world, client, sent } = await ownService();
    world.clock.now -= 1000;
    await client.createSession(newSession());
    world.clock.now += 1000;
    await client.createSession(newSession());
    expect(sent).toHaveLength(4);
    expect((await world.stored()).sessions).toHaveLength(2);
  });

  it("the clock is corrected for each of several simultaneous calls", async () => {
    const { world, client, sent } = await ownService();
    world.clock.now += 1000;
    await Promise.all([1, 2, 3].map(() => client.createSession(newSession())));
    expect(sent).toHaveLength(6);
    expect((await world.stored()).sessions).toHaveLength(3);
  });

  it("the service's time is read from the Date header when the detail holds no time", async () => {
    const date = new Date((Math.floor(Date.now() / 1000) - 5000) * 1000).toUTCString();
    const { world, client, sent } = await ownService([() => stale("timestamp: is stale", { date })]);
    world.clock.now -= 5000;
    await client.createSession(newSession());
    expect(sent).toHaveLength(2);
  });

  it("the clock is corrected once in a call, and a second refusal is final", async () => {
    const serverTime = Math.floor(Date.now() / 1000) + 5000;
    const again = () => stale(`timestamp: must be within 300 s of ${serverTime}, Unix seconds`);
    const { client, sent } = await service([again, again, again]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({
      code: "token_invalid",
      message: `token verification failed (token验证失败!) at ${CREATE}: timestamp: must be within 300 s of ${serverTime}, Unix seconds`,
    });
    expect(Number(sent[1]?.fields.timestamp) - serverTime).toBeLessThan(60);
    expect(sent).toHaveLength(2);
  });

  it("the clock is corrected again in a call after another call's token was refused meanwhile", async () => {
    const refuse = () => refusal(401, "token验证失败!");
    const { world, client, sent } = await ownService([
      undefined,
      undefined,
      () => refusal(503, "服务暂时不可用"),
      refuse,
    ]);
    world.clock.now += 1000;
    const calls = await Promise.allSettled([1, 2].map(() => client.createSession(newSession())));
    expect(calls.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(sent).toHaveLength(6);
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("a call with a wrong clock makes no more than maxTries tries, and the next call has the right time", async () => {
    const { world, client, sent } = await ownService([], { maxTries: 1 });
    world.clock.now += 1000;
    await expect(client.createSession(newSession())).rejects.toMatchObject({ code: "token_invalid" });
    await client.createSession(newSession());
    expect(sent).toHaveLength(2);
  });

  it.each([
    ["a wrong signature", () => refusal(401, "token验证失败!", { date: "Sun, 06 Nov 1994 08:49:37 GMT" })],
    ["a used ranstr", () => stale("ranstr: was already used")],
    ["a bad timestamp", () => refusal(400, "参数错误", { "x-error-detail": "timestamp: must be an integer" })],
    ["a stale timestamp, without a time", () => stale("timestamp: is stale")],
  ])("the client does not blame the clock for %s, which is final", async (_, mishap) => {
    const { client, sent } = await service([mishap]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({ name: "AgentSessionError" });
    expect(sent).toHaveLength(1);
  });
});

describe("a forged answer with a wrong time", () => {
  const NOW = 1_795_000_000;
  /** A forged refusal with another time for the client to sign. */
  const forgery = (time: number | string) => () =>
    refusal(401, "token验证失败!", { "x-error-detail": `timestamp: must be within 300 s of ${time}, Unix seconds` });

  /** A service and a machine with the same clock, which stands still. */
  const atNow = async (mishaps: Parameters<typeof service>[0], options = {}) => {
    vi.spyOn(Date, "now").mockReturnValue(NOW * 1000);
    const parts = await ownService(mishaps, options);
    const stamps = () => parts.sent.map(({ fields }) => Number(fields.timestamp) - NOW);
    return { ...parts, stamps };
  };

  it.each([999_999_999_999, NOW + 86_401, NOW - 86_401, 0])(
    "a forged time more than a day away, %i, is not believed, and later calls use this machine's time",
    async (time) => {
      const { world, client, stamps } = await atNow([forgery(time)]);
      await expect(client.createSession(newSession())).rejects.toMatchObject({ code: "token_invalid" });
      await client.createSession(newSession());
      await client.send("create_gd", {});
      expect(stamps()).toEqual([0, 0, 0]);
      expect((await world.stored()).sessions).toHaveLength(1);
    },
  );

  it.each(["Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"])(
    "a forged time more than a day away in the Date header, %s, is not believed",
    async (date) => {
      const { client, stamps } = await atNow([
        () => refusal(401, "token验证失败!", { "x-error-detail": "timestamp: is stale", date }),
      ]);
      await expect(client.createSession(newSession())).rejects.toMatchObject({ code: "token_invalid" });
      await client.createSession(newSession());
      expect(stamps()).toEqual([0, 0]);
    },
  );

  it.each([86_400, -86_400])(
    "a forged time %i s away is tried, and forgotten when the service refuses it",
    async (off) => {
      const { world, client, stamps } = await atNow([forgery(NOW + off)]);
      await expect(client.createSession(newSession())).rejects.toMatchObject({ code: "token_invalid" });
      await client.createSession(newSession());
      expect(stamps()).toEqual([0, off, 0]);
      expect((await world.stored()).sessions).toHaveLength(1);
    },
  );

  it.each([
    ["a refused signature", () => refusal(401, "token验证失败!")],
    [
      "a timestamp that is none",
      () => refusal(400, "参数错误", { "x-error-detail": "timestamp: must be an integer from 1 to 9999999999" }),
    ],
    ["a time that is far away", forgery(999_999_999_999)],
  ])("a forged time is forgotten after %s of a call that used it, also in a call with one try", async (_, mishap) => {
    const lie = forgery(NOW + 5000);
    const { client, stamps } = await atNow([lie, undefined, lie, mishap, undefined, lie, mishap], { maxTries: 1 });
    const fails = () => expect(client.createSession(newSession())).rejects.toMatchObject({ name: "AgentSessionError" });
    await fails();
    // The service's own refusal names the right time.
    await fails();
    await fails();
    await fails();
    await client.createSession(newSession());
    await fails();
    await client.send("create_gd", {});
    await client.send("create_gd", {});
    expect(stamps()).toEqual([0, 5000, 0, 5000, 0, 0, 5000, 0]);
  });

  it("a learned time is kept after a used ranstr and after a lost answer", async () => {
    const replay = () => refusal(401, "token验证失败!", { "x-error-detail": "ranstr: was already used" });
    const { client, stamps } = await atNow([forgery(NOW + 200), replay, LOST]);
    await expect(client.createSession(newSession())).rejects.toThrow("ranstr");
    await client.createSession(newSession());
    expect(stamps()).toEqual([0, 200, 200, 200]);
  });
});

describe("an answer", () => {
  it("an answer longer than 1 MiB is cut off, and the error says so", async () => {
    let cancelled = false;
    const { client } = await service([
      () =>
        endless(200, () => {
          cancelled = true;
        }),
    ]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({
      code: "unexpected",
      status: 200,
      message: `${CREATE} did not get an answer of this service: HTTP 200 with more than 1 MiB`,
    });
    expect(cancelled).toBe(true);
  });

  it("an answer of 1 MiB is read", async () => {
    const text = JSON.stringify({ code: 1, msg: "ok", data: { chat_id: 5 } }).padEnd(1024 * 1024);
    const { client } = await service([() => new Response(text)]);
    expect(await client.createSession(newSession())).toMatchObject({ chatId: 5 });
    const longer = await service([() => new Response(`${text} `)]);
    await expect(longer.client.createSession(newSession())).rejects.toMatchObject({ code: "unexpected" });
  });

  it("an answer in chunks that cut a character in two is read whole", async () => {
    const bytes = new TextEncoder().encode('{"code":-1,"msg":"参数错误","data":""}');
    const pieces = () =>
      new ReadableStream({
        start(controller) {
          for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
          controller.close();
        },
      });
    const { client } = await service([() => new Response(pieces(), { status: 400 })]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({
      message: `invalid parameters (参数错误) at ${CREATE}`,
    });
  });

  it("an answer without a body does not come from the service", async () => {
    const { client } = await service([() => new Response(null, { status: 204 })]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({ code: "unexpected", status: 204 });
  });
});

describe("the real rate limit", () => {
  it("the client waits as long as the real rate limit asks, and the call is done once", async () => {
    let queryCount = 0;
    const APP_LIMIT = { limit: async () => ({ success: ++queryCount > 1 }) };
    const { world, client } = await ownService([], {}, { APP_LIMIT });
    // This call exceeds the limit.
    await client.createSession(newSession());
    const statuses: number[] = [];
    const fetch = async (...args: Parameters<typeof globalThis.fetch>) => {
      const answer = await world.fetch(new Request(...args));
      statuses.push(answer.status);
      world.clock.now += 10;
      return answer;
    };
    const { appid, secret } = world;
    await new AgentSessionClient({ baseUrl: "http://worker", appid, secret, fetch }).createSession(newSession());
    expect(statuses).toEqual([429, 200]);
    expect(backoffs.delays[0]).toBeGreaterThan(10_000);
    expect((await world.stored()).sessions).toHaveLength(2);
  });
});
