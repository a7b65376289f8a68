import { describe, expect, it, vi } from "vitest";
import { newSession, ownService, sharedService } from "./service.ts";

const service = sharedService();

describe("withResponse", () => {
  it("withResponse returns status, headers and envelope of createSession beside its data, with one call", async () => {
    const { world, client, sent } = await ownService();
    const { data, response } = await client.createSession(newSession(), { idempotencyKey: "k" }).withResponse();
    expect(response.status).toBe(200);
    expect(response.envelope).toEqual({ code: 1, msg: "ok", data: { chat_id: data.chatId } });
    expect(response.headers.get("x-request-id")).toBe(data.requestId);
    expect(response.headers.has("idempotency-replayed")).toBe(false);
    expect(sent).toHaveLength(1);
    const secondAnswer = await client.createSession(newSession(), { idempotencyKey: "k" }).withResponse();
    expect(secondAnswer.data).toMatchObject({ chatId: data.chatId, replayed: true });
    expect(secondAnswer.response.headers.get("idempotency-replayed")).toBe("true");
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("withResponse returns the answer of addAgents, with its ignored agents in a header", async () => {
    const { client } = await service();
    const { chatId } = await client.createSession(newSession({ agentIds: [1] }));
    const { data, response } = await client.addAgents({ chatId, agentIds: [2, 777] }).withResponse();
    expect(data.ignored).toEqual([{ agentId: 777, reason: "unknown" }]);
    expect(response.headers.get("x-ignored-agents")).toBe("777 unknown");
    expect(response.requestId).toBe(response.headers.get("x-request-id"));
  });

  it("withResponse returns the answer of the last try", async () => {
    const { client, sent } = await service(["drop_answer"]);
    const { response } = await client.createSession(newSession()).withResponse();
    expect(sent).toHaveLength(2);
    expect(response.headers.get("idempotency-replayed")).toBe("true");
  });

  it("withResponse sends nothing more when the same call is awaited too", async () => {
    const { world, client, sent } = await ownService();
    const call = client.createSession(newSession());
    const { chatId } = await call;
    expect((await call.withResponse()).data.chatId).toBe(chatId);
    expect(await Promise.all([call, call.then(({ chatId: id }) => id)])).toMatchObject([{ chatId }, chatId]);
    expect(sent).toHaveLength(1);
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("withResponse fails as the call does, and leaves no unhandled rejection", async () => {
    const unhandled = vi.fn((event: PromiseRejectionEvent) => event.preventDefault());
    addEventListener("unhandledrejection", unhandled);
    const { client } = await service([], { secret: "another secret" });
    const whole = client.createSession(newSession()).withResponse();
    await expect(whole).rejects.toMatchObject({ code: "token_invalid" });
    await expect(client.createSession(newSession())).rejects.toMatchObject({ code: "token_invalid" });
    await expect(client.addAgents(undefined as never).withResponse()).rejects.toThrow(TypeError);
    await new Promise((resolve) => setTimeout(resolve, 20));
    removeEventListener("unhandledrejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
