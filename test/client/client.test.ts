import { describe, expect, it } from "vitest";
import { AgentSessionClient, AgentSessionError } from "../../src/client/client.ts";
import { WIRE_ERRORS } from "../../src/core/errors.ts";
import { OPERATIONS } from "../../src/core/operations/index.ts";
import { seedAgents } from "../support/seed-agents.ts";
import { newSession, ownService, refusal, sharedService } from "./service.ts";

const service = sharedService();

const [CONTRACT = ""] = Object.values<string>(
  import.meta.glob("../../docs/contract.md", { query: "?raw", import: "default", eager: true }),
);
const CREATE = "http://worker/openapi/chat/create_gd";

describe("createSession", () => {
  it("createSession stores the given values and returns the chat id", async () => {
    const { world, client, sent } = await ownService();
    const result = await client.createSession(newSession({ title: "订单", sender: "customer" }));
    expect(result).toEqual({
      chatId: expect.any(Number),
      replayed: false,
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const { customers, sessions, participants, messages } = await world.stored();
    expect(customers).toMatchObject([{ external_id: "customer_001", name: "王伟", ip: "127.0.0.1" }]);
    expect(sessions).toMatchObject([
      { id: result.chatId, status: "waiting", responsible_agent_id: 1, visitor_title: "订单", agent_title: "订单" },
    ]);
    expect(participants).toMatchObject([{ agent_id: 2 }]);
    expect(messages).toMatchObject([{ sender: "visitor", content: "我的订单在哪里？" }]);
    expect(sent).toHaveLength(1);
  });

  it("createSession omits title and sender_type when they are undefined", async () => {
    const { world, client, sent } = await ownService();
    await client.createSession(newSession({ title: undefined, sender: undefined }));
    expect(sent[0]?.fields).not.toHaveProperty("title");
    expect(sent[0]?.fields).not.toHaveProperty("sender_type");
    expect((await world.stored()).messages).toMatchObject([{ sender: "agent", sender_uid: 1 }]);
  });

  it("createSession stores metadata, and names what is wrong with it", async () => {
    const { world, client } = await ownService();
    const { chatId } = await client.createSession(newSession({ metadata: { order_no: "7001" } }));
    const session = await (await world.admin("GET", `/admin/sites/${world.siteId}/sessions/${chatId}`)).json();
    expect(session).toMatchObject({ metadata: { order_no: "7001" } });
    const error = await refusalOf(client.createSession(newSession({ metadata: { "order no": "7001" } })));
    expect(error).toMatchObject({
      code: "invalid_parameters",
      detail: expect.stringMatching(/^metadata: key 1 must be /),
    });
  });

  it.each([
    ["customer", "waiting", "visitor", null],
    ["responsible_agent", "replied", "agent", 1],
    ["system", "waiting", "agent", 0],
  ] as const)("createSession sends as %s", async (sender, status, storedSender, uid) => {
    const { world, client } = await ownService();
    await client.createSession(newSession({ sender }));
    const { sessions, messages } = await world.stored();
    expect(sessions).toMatchObject([{ status }]);
    expect(messages).toMatchObject([{ sender: storedSender, sender_uid: uid }]);
  });

  it("createSession refuses an unknown sender instead of sending as the default one", async () => {
    const { client, sent } = await service();
    const session = newSession({ sender: "toString" as "customer" });
    await expect(client.createSession(session)).rejects.toThrow(new TypeError('sender: "toString" is not a sender'));
    expect(sent).toHaveLength(0);
  });

  it.each([
    [12345678901234567890n, "12345678901234567890"],
    [9007199254740991, "9007199254740991"],
    [-7, "-7"],
    [0n, "0"],
  ])("createSession writes the customer id %s as a JSON integer with these digits", async (id, digits) => {
    const { world, client, sent } = await ownService();
    await client.createSession(newSession({ customer: { ...newSession().customer, id } }));
    expect(sent[0]?.text).toContain(`"sbs":${digits},`);
    expect((await world.stored()).customers).toMatchObject([{ external_id: digits }]);
  });

  it.each([2 ** 53, -(2 ** 53), 1e21, Number.NaN, Number.POSITIVE_INFINITY])(
    "createSession refuses the number %s, which does not keep its digits",
    async (id) => {
      const { client, sent } = await service();
      await expect(client.createSession(newSession({ customer: { ...newSession().customer, id } }))).rejects.toThrow(
        /^customer\.id: /,
      );
      await expect(client.createSession(newSession({ agentIds: [1, id] }))).rejects.toThrow(/^agentIds\[1\]: /);
      await expect(client.addAgents({ chatId: id, agentIds: [3] })).rejects.toThrow(/^chatId: /);
      await expect(client.addAgents({ chatId: 1, agentIds: [3, id] })).rejects.toThrow(/^agentIds\[1\]: /);
      expect(sent).toHaveLength(0);
    },
  );

  it("createSession reports a success without a chat_id as an unexpected answer", async () => {
    const { client } = await service([() => Response.json({ code: 1, msg: "ok", data: "" })]);
    await expect(client.createSession(newSession())).rejects.toMatchObject({
      code: "unexpected",
      status: 200,
      message: `POST ${CREATE} did not get an answer of this service: a success without the session's id`,
    });
  });
});

describe("addAgents", () => {
  it("addAgents adds agents to a session", async () => {
    const { world, client, sent } = await ownService();
    const { chatId } = await client.createSession(newSession({ agentIds: [1] }));
    expect(await client.addAgents({ chatId, agentIds: [2, 3] })).toEqual({
      ignored: [],
      replayed: false,
      requestId: expect.any(String),
    });
    expect(sent[1]?.fields.kefu_ids).toBe("2,3");
    expect((await world.stored()).participants).toMatchObject([{ agent_id: 2 }, { agent_id: 3 }]);
  });

  it("addAgents names each left-out agent with the reason, even where the service groups them", async () => {
    const { world, client } = await ownService();
    const { chatId } = await client.createSession(newSession({ agentIds: [1] }));
    expect((await client.addAgents({ chatId, agentIds: [1, 3, 4, 1_000] })).ignored).toEqual([
      { agentId: 1_000, reason: "unknown" },
      { agentId: 4, reason: "disabled" },
      { agentId: 1, reason: "already on the session" },
    ]);
    const long = Array.from({ length: 97 }, (_, i) => Number.MAX_SAFE_INTEGER - 97 + i);
    await seedAgents(world, long);
    await client.addAgents({ chatId, agentIds: long });
    const { data, response } = await client.addAgents({ chatId, agentIds: [2, 4, 1_000, ...long] }).withResponse();
    expect(response.headers.get("x-ignored-agents")).toMatch(/^unknown: 1000, disabled: 4, already on the session: /);
    expect(data.ignored).toEqual([
      { agentId: 1_000, reason: "unknown" },
      { agentId: 4, reason: "disabled" },
      ...long.map((agentId) => ({ agentId, reason: "already on the session" })),
    ]);
  });
});

describe("an idempotency key", () => {
  it("a call with a used idempotency key returns the first answer, with replayed set to true", async () => {
    const { world, client } = await ownService();
    const first = await client.createSession(newSession(), { idempotencyKey: "order-1" });
    const secondAnswer = await client.createSession(newSession(), { idempotencyKey: "order-1" });
    expect(secondAnswer).toMatchObject({ chatId: first.chatId, replayed: true });
    expect(first.replayed).toBe(false);
    expect((await world.stored()).sessions).toHaveLength(1);
    await client.addAgents({ chatId: first.chatId, agentIds: [3] }, { idempotencyKey: "order-1" });
    const answer = await client.addAgents({ chatId: first.chatId, agentIds: [3] }, { idempotencyKey: "order-1" });
    expect(answer.replayed).toBe(true);
  });

  it("each call has a new idempotency key by default, and none with false", async () => {
    const { world, client, sent } = await ownService();
    await client.createSession(newSession());
    await client.createSession(newSession());
    await client.createSession(newSession(), { idempotencyKey: false });
    const keys = sent.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys).toEqual([expect.any(String), expect.any(String), null]);
    expect(keys[0]).not.toBe(keys[1]);
    expect((await world.stored()).sessions).toHaveLength(3);
  });

  it.each(["", " ", "a b", "é", "x".repeat(256), "a\n"])(
    "the idempotency key %j is refused before anything is sent",
    async (idempotencyKey) => {
      const { client, sent } = await service();
      await expect(client.createSession(newSession(), { idempotencyKey })).rejects.toThrow(TypeError);
      expect(sent).toHaveLength(0);
    },
  );
});

describe("a refusal", () => {
  const cases = [
    ["invalid_parameters", 400, "used", { content: "" }],
    ["invalid_parameters", 400, "another", { agentIds: [1, 99] }],
    ["idempotency_key_reused", 422, "used", { content: "something else" }],
  ] as const;

  it.each(["by-cause", "always-200"])(
    "a refusal is an error with its code, message, detail and request id, ERROR_STATUS %s",
    async (mode) => {
      const { world, client, sent } = await ownService([], {}, { ERROR_STATUS: mode });
      const first = await client.createSession(newSession(), { idempotencyKey: "used" });
      for (const [code, status, idempotencyKey, change] of cases) {
        const error = await refusalOf(client.createSession(newSession(change), { idempotencyKey }));
        expect(error).toMatchObject({
          name: "AgentSessionError",
          code,
          message: `invalid parameters (参数错误) at POST ${CREATE}: ${error.detail}`,
          status: mode === "by-cause" ? status : 200,
          detail: expect.any(String),
          requestId: expect.any(String),
        });
      }
      const missing = await refusalOf(client.addAgents({ chatId: first.chatId + 1000, agentIds: [3] }));
      expect(missing).toMatchObject({
        code: "session_not_found",
        message: expect.stringMatching(
          /^the session does not exist \(会话不存在\) at POST http:\/\/worker\/openapi\/chat\/add_kf: chatId/,
        ),
      });
      const nobody = await refusalOf(client.addAgents({ chatId: first.chatId, agentIds: [1] }));
      expect(nobody).toMatchObject({
        code: "state_forbids",
        message: expect.stringMatching(/^the present state does not allow this \(当前状态不允许操作\) at POST /),
      });
      expect(sent, "none of them is retried").toHaveLength(6);
      expect((await world.stored()).sessions).toHaveLength(1);
    },
  );

  it.each([
    ["customer.id: must be a string of 1 to 64", { customer: { id: "", name: "王伟", ip: "::1" } }],
    ["customer.name: must be a string of 1 to 30", { customer: { id: "1", name: "x".repeat(31), ip: "::1" } }],
    [
      "customer.ip: must be one IPv4 or IPv6 address, without port, brackets or blanks",
      { customer: { id: "1", name: "王伟", ip: "localhost" } },
    ],
    ["content: must be a string of 1 to 2000 characters", { content: "" }],
    ["title: must be a string of 1 to 120 characters", { title: "" }],
    ["agentIds: must be an array", { agentIds: [] }],
    ["agentIds: item 2 must be an integer from 1", { agentIds: [1, 0] }],
    ["agentIds: 99 unknown, 4 disabled", { agentIds: [1, 4, 99] }],
    ["responsibleAgentId: must be one of agentIds", { responsibleAgentId: 3 }],
    [
      "content: must be a string of 1 to 2000 characters; responsibleAgentId: must",
      { content: "", responsibleAgentId: 0 },
    ],
  ])("a refusal names the field and the broken rule in the client's names: %s", async (detail, change) => {
    const { client } = await service();
    const error = await refusalOf(client.createSession(newSession(change)));
    expect(error.detail?.slice(0, detail.length)).toBe(detail);
    expect(error.message).toBe(`invalid parameters (参数错误) at POST ${CREATE}: ${error.detail}`);
    expect(error.message).not.toMatch(WIRE_NAMES);
  });

  it.each([
    ["chatId: ", { chatId: 0, agentIds: [3] }],
    ["agentIds: item 2 must be a positive integer", { chatId: 1, agentIds: [1, 0] }],
  ])("a refusal of addAgents has the client's names too: %s", async (detail, request) => {
    const { client } = await service();
    const error = await refusalOf(client.addAgents(request));
    expect(error.detail?.slice(0, detail.length)).toBe(detail);
    expect(error.message).not.toMatch(WIRE_NAMES);
  });

  it("a refusal of the Idempotency-Key names the option idempotencyKey", async () => {
    const { client } = await service();
    await client.createSession(newSession(), { idempotencyKey: "used" });
    const error = await refusalOf(client.createSession(newSession({ content: "b" }), { idempotencyKey: "used" }));
    expect(error.detail).toMatch(/^idempotencyKey: was used/);
  });

  it("input with the wrong shape is refused before anything is sent", async () => {
    const { client, sent } = await service();
    const nobody = newSession({ customer: undefined });
    await expect(client.createSession(nobody)).rejects.toThrow(new TypeError("customer: must be an object"));
    const request = { chatId: 1, agentIds: "1,2" as unknown as number[] };
    await expect(client.addAgents(request)).rejects.toThrow(new TypeError("agentIds: must be an array"));
    await expect(client.addAgents(undefined as never)).rejects.toThrow(new TypeError("request: must be an object"));
    await expect(client.createSession(null as never)).rejects.toThrow(new TypeError("session: must be an object"));
    expect(sent).toHaveLength(0);
  });

  // biome-ignore lint/suspicious/noSparseArray: the hole is the test's input.
  const holedList = [1, , 2];
  it.each([
    [holedList, "agentIds[1]: must be an integer, not undefined"],
    [new Array(2), "agentIds[0]: must be an integer, not undefined"],
    [[1, undefined], "agentIds[1]: must be an integer, not undefined"],
    [[1, null], "agentIds[1]: must be an integer, not null"],
    [[Number.NaN], "agentIds[0]: must be an integer, not NaN"],
    [[1.5], "agentIds[0]: must be an integer, not 1.5"],
    [[1, "2"], "agentIds[1]: must be an integer, not of type string"],
    [[[1]], "agentIds[0]: must be an integer, not an array"],
    [[2 ** 53], "agentIds[0]: must be an integer, not 9007199254740992: it is beyond 2^53 - 1"],
  ])("the agents %j are refused before anything is sent, in both calls", async (list, says) => {
    const { world, client, sent } = await ownService();
    const agentIds = list as number[];
    await expect(client.createSession(newSession({ agentIds }))).rejects.toThrow(TypeError);
    await expect(client.createSession(newSession({ agentIds }))).rejects.toThrow(says);
    await expect(client.addAgents({ chatId: 1, agentIds })).rejects.toThrow(TypeError);
    await expect(client.addAgents({ chatId: 1, agentIds })).rejects.toThrow(says);
    expect(sent).toHaveLength(0);
    expect((await world.stored()).sessions).toEqual([]);
  });

  it.each([
    ["responsibleAgentId: must be an integer, not undefined", { responsibleAgentId: undefined }],
    ["responsibleAgentId: must be an integer, not 1.5", { responsibleAgentId: 1.5 }],
    ["customer.id: must be an integer, not 0.5", { customer: { id: 0.5, name: "王伟", ip: "::1" } }],
    ["metadata: must be an object", { metadata: "order" }],
    ["metadata: must be an object", { metadata: null }],
    ["metadata: must be a plain object of strings", { metadata: ["order"] }],
    ["metadata: must be a plain object of strings", { metadata: new Map([["order", "7001"]]) }],
    ["metadata: must be a plain object of strings", { metadata: new URLSearchParams("order=7001") }],
    ["metadata.order: must be a string, not undefined", { metadata: { order: undefined } }],
    ["metadata.order: must be a string, not of type number", { metadata: { order: 7001 } }],
    ["metadata.order: must be a string, not an array", { metadata: { order: [] } }],
    ["title: is not a finite number", { title: Number.NaN }],
  ])("an argument of the wrong type is refused before anything is sent: %s", async (says, change) => {
    const { client, sent } = await service();
    await expect(client.createSession(newSession(change))).rejects.toThrow(new TypeError(says));
    expect(sent).toHaveLength(0);
  });

  it.each([1.5, Number.NaN, "1", undefined])("the chatId %s is refused before anything is sent", async (chatId) => {
    const { client, sent } = await service();
    const call = client.addAgents({ chatId: chatId as number, agentIds: [3] });
    await expect(call).rejects.toThrow(/^chatId: must be an integer, not /);
    expect(sent).toHaveLength(0);
  });

  it("metadata without a prototype, and bigints, are accepted", async () => {
    const { world, client } = await ownService();
    const metadata = Object.assign(Object.create(null), { order: "7001" });
    const session = newSession({ metadata, agentIds: [1n, 2], responsibleAgentId: 1n });
    const { chatId } = await client.createSession(session);
    await client.addAgents({ chatId, agentIds: [3n as unknown as number] });
    expect((await world.stored()).participants).toMatchObject([{ agent_id: 2 }, { agent_id: 3 }]);
  });

  it("the client explains each message of the service in the English of the contract's page", async () => {
    const [, section = ""] = CONTRACT.split("\n## 7. Errors\n");
    const text = section.split("\n## ")[0]?.replaceAll(/\s+/g, " ") ?? "";
    const rows = [...text.matchAll(/`([^`]*\p{Script=Han}[^`]*)`(?:, ([^:,]+):| \(([^)]+)\))/gu)].map(
      ([, msg, meaning, inBrackets]) => [msg, meaning ?? inBrackets] as const,
    );
    expect(new Set(rows.map(([msg]) => msg))).toEqual(new Set(Object.values(WIRE_ERRORS).map((each) => each.message)));
    for (const [msg = "", english] of rows) {
      const { client } = await service([() => refusal(400, msg)], { maxTries: 1 });
      const error = await refusalOf(client.createSession(newSession()));
      expect(error.message).toBe(`${english} (${msg}) at POST ${CREATE}`);
    }
  });

  it("a refusal with an unknown message is classified by its status", async () => {
    for (const msg of ["新的错误", "constructor"]) {
      const { client } = await service([() => refusal(400, msg)]);
      const error = await refusalOf(client.createSession(newSession()));
      expect(error).toMatchObject({ code: "invalid_parameters", message: `refused (${msg}) at POST ${CREATE}` });
    }
  });

  it("a wrong secret gives the code token_invalid and no detail", async () => {
    const { client } = await service([], { secret: "another secret" });
    expect(await refusalOf(client.createSession(newSession()))).toMatchObject({
      code: "token_invalid",
      status: 401,
      detail: undefined,
      requestId: expect.any(String),
    });
  });

  it("a base URL that points elsewhere in the service gives the code unexpected", async () => {
    const { client, sent } = await service([], { baseUrl: "http://worker/wrong/" });
    expect(await refusalOf(client.createSession(newSession()))).toMatchObject({
      code: "unexpected",
      message: expect.stringMatching(
        /^no such interface \(接口不存在\) at POST http:\/\/worker\/wrong\/openapi\/chat\/create_gd.*the calls are POST/,
      ),
    });
    expect(sent[0]?.url).toBe("http://worker/wrong/openapi/chat/create_gd");
  });
});

describe("send", () => {
  it("send returns a refusal whole, with fields in wire names, and adds no key", async () => {
    const { client, world, sent } = await ownService();
    const answer = await client.send("create_gd", { sbs: 1n });
    expect(answer).toMatchObject({ status: 400, envelope: { code: -1, msg: "参数错误", data: "" } });
    expect(answer.headers.get("x-error-detail")).toContain("content: is required");
    expect(answer.requestId).toBe(answer.headers.get("x-request-id"));
    expect(sent[0]?.headers.has("idempotency-key")).toBe(false);
    expect(sent[0]?.fields).toMatchObject({ appid: world.appid, sbs: 1 });
  });

  it("send refuses an operation that it does not know, and sends nothing", async () => {
    const { client, sent } = await service();
    for (const name of ["no_such_gd", "toString", "../../admin"]) {
      await expect(client.send(name as "create_gd", {})).rejects.toThrow(
        new TypeError(`operation: must be one of ${OPERATIONS.map(({ wireName }) => wireName).join(", ")}`),
      );
    }
    expect(sent).toHaveLength(0);
  });

  it("send leaves the given body unchanged, with its timestamp, ranstr and key", async () => {
    const { client, sent } = await service();
    const fields = { appid: "x", timestamp: 5, ranstr: "r" };
    expect((await client.send("add_kf", fields, { idempotencyKey: "k" })).status).toBe(401);
    expect(sent[0]?.fields).toEqual(fields);
    expect(sent[0]?.headers.get("idempotency-key")).toBe("k");
  });

  it("send never retries", async () => {
    const { client, sent } = await service([new Error("down")]);
    await expect(client.send("create_gd", {})).rejects.toMatchObject({ code: "network" });
    expect(sent).toHaveLength(1);
  });
});

describe("a client", () => {
  const good = { baseUrl: "https://example.com", appid: "a", secret: "s" };

  it.each([
    ["baseUrl", { baseUrl: "example.com" }],
    ["baseUrl", { baseUrl: "ftp://example.com" }],
    ["baseUrl", { baseUrl: "https://user:pass@example.com" }],
    ["baseUrl", { baseUrl: "https://example.com/?a=1" }],
    ["baseUrl", { baseUrl: "https://example.com/#x" }],
    ["baseUrl", { baseUrl: undefined as unknown as string }],
    ["appid", { appid: "" }],
    ["secret", { secret: "" }],
    ["secret", { secret: undefined as unknown as string }],
    ["timeoutMs", { timeoutMs: 0 }],
    ["timeoutMs", { timeoutMs: 2 ** 31 }],
    ["maxTries", { maxTries: 0 }],
    ["maxTries", { maxTries: 1.5 }],
  ])("a client cannot be made with a bad %s: %o", (option, change) => {
    expect(() => new AgentSessionClient({ ...good, ...change })).toThrow(TypeError);
    expect(() => new AgentSessionClient({ ...good, ...change })).toThrow(new RegExp(`^${option}: `));
  });

  it("a client hides its secret when it is printed", () => {
    const client = new AgentSessionClient({ ...good, secret: "keep-me-hidden" });
    expect(JSON.stringify(client) + Object.keys(client)).not.toContain("keep-me-hidden");
  });
});

const WIRE_NAMES = /\b(sbs|sbs_mc|kefu_ids?|fzr_uid|sender_type|chat_id)\b/;

async function refusalOf(call: Promise<unknown>): Promise<AgentSessionError> {
  const outcome = await call.then(
    () => "accepted",
    (error: unknown) => error,
  );
  if (!(outcome instanceof AgentSessionError)) throw new Error(`not an AgentSessionError: ${String(outcome)}`);
  return outcome;
}
