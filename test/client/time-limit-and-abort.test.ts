import { describe, expect, it } from "vitest";
import type { AgentSessionClient } from "../../src/client/client.ts";
import { newSession, refusal, sharedService } from "./service.ts";

const service = sharedService();

const busy = (seconds: number) => () => refusal(429, "请求过于频繁", { "retry-after": String(seconds) });

describe("a time limit", () => {
  it("a try without an answer ends after the time limit, and the next try follows", async () => {
    const accepts = () => Response.json({ code: 1, msg: "ok", data: { chat_id: 7 } });
    const { client, sent } = await service(["never", accepts], { timeoutMs: 100 });
    expect(await client.createSession(newSession())).toMatchObject({ chatId: 7 });
    expect(sent).toHaveLength(2);
  });

  it("the time limit covers the body of the answer, which a dying server never ends", async () => {
    const endless = () => new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array([123])) }));
    const { client } = await service([endless], { timeoutMs: 60, maxTries: 1 });
    await expect(client.createSession(newSession())).rejects.toMatchObject({
      code: "timeout",
      status: undefined,
      message: "no answer from POST http://worker/openapi/chat/create_gd in 60 ms",
    });
  });

  it("a time limit without an idempotency key is final", async () => {
    const { client, sent } = await service(["never"], { timeoutMs: 60 });
    const call = client.createSession(newSession(), { idempotencyKey: false });
    await expect(call).rejects.toMatchObject({ code: "timeout" });
    expect(sent).toHaveLength(1);
  });
});

describe("timeoutMs of a call", () => {
  it("the option timeoutMs replaces the client's time limit for one call only, longer or shorter", async () => {
    const { client, sent } = await service(["never", "never", undefined], { timeoutMs: 80, maxTries: 1 });
    const shorter = client.createSession(newSession(), { timeoutMs: 40 });
    await expect(shorter).rejects.toMatchObject({ code: "timeout", message: expect.stringMatching(/ in 40 ms$/) });
    await expect(client.createSession(newSession())).rejects.toThrow(/ in 80 ms$/);
    await client.createSession(newSession(), { timeoutMs: 60_000 });
    expect(sent).toHaveLength(3);
  });

  it("timeoutMs of a call applies to addAgents and send too", async () => {
    const { client } = await service(["never", "never"], { maxTries: 1 });
    const call = client.addAgents({ chatId: 1, agentIds: [1] }, { timeoutMs: 40 });
    await expect(call).rejects.toThrow(/ in 40 ms$/);
    await expect(client.send("create_gd", {}, { timeoutMs: 50 })).rejects.toThrow(/ in 50 ms$/);
  });
});

describe("an unusable option of a call", () => {
  it.each([
    ["timeoutMs", { timeoutMs: 0 }],
    ["timeoutMs", { timeoutMs: Number.NaN }],
    ["timeoutMs", { timeoutMs: 2 ** 31 }],
    ["timeoutMs", { timeoutMs: "1000" as unknown as number }],
    ["retries", { retries: -1 }],
    ["retries", { retries: 1.5 }],
    ["retries", { retries: 100 }],
    ["retries", { retries: Number.POSITIVE_INFINITY }],
  ])("an unusable option of a call is named before anything is sent: %s %j", async (option, options) => {
    const { client, sent } = await service();
    const says = new RegExp(`^${option}: must be a whole number from [01] to `);
    await expect(client.createSession(newSession(), options)).rejects.toThrow(TypeError);
    await expect(client.createSession(newSession(), options)).rejects.toThrow(says);
    await expect(client.addAgents({ chatId: 1, agentIds: [1] }, options)).rejects.toThrow(says);
    if ("timeoutMs" in options) await expect(client.send("create_gd", {}, options)).rejects.toThrow(says);
    expect(sent).toHaveLength(0);
  });
});

describe("an AbortSignal", () => {
  const operations: [string, (client: AgentSessionClient, signal: AbortSignal) => Promise<unknown>][] = [
    ["createSession", (client, signal) => client.createSession(newSession(), { signal })],
    ["addAgents", (client, signal) => client.addAgents({ chatId: 1, agentIds: [1] }, { signal })],
    ["send", (client, signal) => client.send("create_gd", {}, { signal })],
  ];

  it.each(operations)("a signal that was aborted before the call keeps %s from sending anything", async (_, call) => {
    const { client, sent } = await service();
    const reason = new Error("changed my mind");
    await expect(call(client, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(sent).toHaveLength(0);
  });

  it.each(operations)("an abort ends %s in the middle of a try, even if fetch ignores it", async (_, call) => {
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    const { client, sent } = await service(["never"]);
    const outcome = expect(call(client, controller.signal)).rejects.toBe(reason);
    await expect.poll(() => sent.length).toBe(1);
    controller.abort(reason);
    await outcome;
    expect(sent).toHaveLength(1);
  });

  it("an abort ends a backoff, and no further try is made", async () => {
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    const { client, sent } = await service([
      () => {
        // The abort comes after the answer was read and the backoff of a minute has begun.
        setTimeout(() => controller.abort(reason), 30);
        return busy(60)();
      },
    ]);
    await expect(client.createSession(newSession(), { signal: controller.signal })).rejects.toBe(reason);
    expect(sent).toHaveLength(1);
  });

  it("an abort between the answer and the backoff ends the call, and no backoff begins", async () => {
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    const headers = {
      get(name: string) {
        // The client reads the signal after the try has ended, so nothing listens for the abort at this moment.
        if (name === "retry-after") controller.abort(reason);
        return name === "retry-after" ? "60" : null;
      },
      has: () => false,
    };
    const sent: string[] = [];
    const fetch = async (url: string) => {
      sent.push(url);
      return { status: 429, headers, body: busy(60)().body };
    };
    const { client } = await service([], { fetch });
    await expect(client.createSession(newSession(), { signal: controller.signal })).rejects.toBe(reason);
    expect(sent).toHaveLength(1);
  });

  it.each(operations)("%s refuses a signal that is no AbortSignal before anything is sent", async (_, call) => {
    const { client, sent } = await service();
    const deafSignal = { aborted: false, addEventListener: () => {} };
    for (const signal of [{}, "signal", 5, new AbortController(), deafSignal]) {
      await expect(call(client, signal as AbortSignal)).rejects.toThrow(
        new TypeError("signal: must be an AbortSignal, with addEventListener and removeEventListener"),
      );
    }
    expect(sent).toHaveLength(0);
  });

  it.each([true, false])(
    "a signal may lack throwIfAborted and reason, as on older platforms: aborted before %s",
    async (before) => {
      const signal = Object.assign(new EventTarget(), { aborted: before });
      const { client, sent } = await service(["never"]);
      const outcome = expect(client.createSession(newSession(), { signal })).rejects.toMatchObject({
        name: "AbortError",
      });
      await expect.poll(() => sent.length).toBe(before ? 0 : 1);
      Object.assign(signal, { aborted: true }).dispatchEvent(new Event("abort"));
      await outcome;
      expect(sent).toHaveLength(before ? 0 : 1);
    },
  );

  it("a signal that is only an event target ends a backoff, and is ignored after the call has ended", async () => {
    const signal = Object.assign(new EventTarget(), { aborted: false });
    const { client, sent } = await service([undefined, busy(60)]);
    await client.createSession(newSession(), { signal });
    setTimeout(() => Object.assign(signal, { aborted: true }).dispatchEvent(new Event("abort")), 30);
    await expect(client.createSession(newSession(), { signal })).rejects.toMatchObject({ name: "AbortError" });
    expect(sent).toHaveLength(2);
  });

  it("the signal is passed on to fetch", async () => {
    const controller = new AbortController();
    let fetchSignal: AbortSignal | null | undefined;
    const fetch = (_: unknown, init?: RequestInit) => {
      fetchSignal = init?.signal;
      return new Promise<Response>(() => {});
    };
    const { client } = await service([], { fetch });
    const outcome = expect(client.createSession(newSession(), { signal: controller.signal })).rejects.toThrow("stop");
    await expect.poll(() => fetchSignal).toBeDefined();
    expect(fetchSignal?.aborted).toBe(false);
    controller.abort(new Error("stop"));
    await outcome;
    expect(fetchSignal?.aborted).toBe(true);
  });
});
