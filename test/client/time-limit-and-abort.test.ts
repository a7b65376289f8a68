import { describe, expect, it, vi } from "vitest";
import type { AgentSessionClient } from "../../src/client/client.ts";
import { newSession, refusal, service } from "./service.ts";

const LOST = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
const busy = (seconds: number) => () => refusal(429, "请求过于频繁", { "retry-after": String(seconds) });

describe("a time limit", () => {
  it("ends a try that gets no answer, and the next one is made", async () => {
    // Long enough for the second try, which the real service answers, on a busy machine.
    const { world, client, sent } = await service(["never"], { timeoutMs: 2_000 });
    await client.createSession(newSession());
    expect(sent).toHaveLength(2);
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("covers the body of the answer, which a dying server never ends", async () => {
    const endless = () => new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array([123])) }));
    const { client } = await service([endless], { timeoutMs: 60, maxTries: 1 });
    await expect(client.createSession(newSession())).rejects.toMatchObject({
      code: "timeout",
      status: undefined,
      message: "no answer in 60 ms",
    });
  });

  it("without a key is final", async () => {
    const { client, sent } = await service(["never"], { timeoutMs: 60 });
    const call = client.createSession(newSession(), { idempotencyKey: false });
    await expect(call).rejects.toMatchObject({ code: "timeout" });
    expect(sent).toHaveLength(1);
  });
});

describe("an AbortSignal", () => {
  const operations: [string, (client: AgentSessionClient, signal: AbortSignal) => Promise<unknown>][] = [
    ["createSession", (client, signal) => client.createSession(newSession(), { signal })],
    ["addAgents", (client, signal) => client.addAgents({ chatId: 1, agentIds: [1] }, { signal })],
    ["send", (client, signal) => client.send("create_gd", {}, { signal })],
  ];

  it.each(operations)("aborted before keeps %s from sending anything", async (_, call) => {
    const { client, sent } = await service();
    const reason = new Error("changed my mind");
    await expect(call(client, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(sent).toHaveLength(0);
  });

  it.each(operations)("ends %s in the middle of a try, however deaf the fetch", async (_, call) => {
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    const { client, sent } = await service(["never"]);
    const outcome = expect(call(client, controller.signal)).rejects.toBe(reason);
    await vi.waitUntil(() => sent.length === 1);
    controller.abort(reason);
    await outcome;
    expect(sent).toHaveLength(1);
  });

  it("ends a pause, and no further try is made", async () => {
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    const { client, sent } = await service([
      () => {
        // Once the answer is read and the pause of a minute has begun.
        setTimeout(() => controller.abort(reason), 30);
        return busy(60)();
      },
    ]);
    await expect(client.createSession(newSession(), { signal: controller.signal })).rejects.toBe(reason);
    expect(sent).toHaveLength(1);
  });

  it("reaches the fetch", async () => {
    const controller = new AbortController();
    let seen: AbortSignal | null | undefined;
    const fetch = (_: unknown, init?: RequestInit) => {
      seen = init?.signal;
      return new Promise<Response>(() => {});
    };
    const { client } = await service([], { fetch });
    const outcome = expect(client.createSession(newSession(), { signal: controller.signal })).rejects.toThrow("stop");
    await vi.waitUntil(() => seen !== undefined);
    expect(seen?.aborted).toBe(false);
    controller.abort(new Error("stop"));
    await outcome;
    expect(seen?.aborted).toBe(true);
  });

  it("that outlives the call keeps nothing of it", async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    const { client } = await service([LOST, busy(0)]);
    await client.createSession(newSession(), { signal });
    expect(added).toHaveBeenCalledTimes(5);
    for (const [type, listener] of added.mock.calls) expect(removed).toHaveBeenCalledWith(type, listener);
  });
});
