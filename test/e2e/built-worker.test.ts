import { createHmac, randomUUID } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";

type Operation = "create_gd" | "add_kf";
type App = Awaited<ReturnType<BuiltWorker["provision"]>>;

/** Tests what tests inside the Worker's process cannot see: the bundle, HTTP itself, and the configured bindings. */
let worker: BuiltWorker;

beforeAll(async () => {
  worker = await startBuiltWorker();
});
afterAll(() => worker?.close());

const failure = (msg: string) => ({ code: -1, msg, data: "" });

describe("the built Worker", () => {
  it.each([
    [1, { status: "waiting", sender: "visitor", sender_uid: null }],
    [2, { status: "replied", sender: "agent", sender_uid: 10411 }],
    [3, { status: "waiting", sender: "agent", sender_uid: 0 }],
  ])(
    "the built Worker creates a session with sender_type %i and adds agents in both forms",
    async (sender_type, expected) => {
      const app = await worker.provision([10411, 10427, 10428, 10429]);
      const created = await send(app, "create_gd", createBody(app, { sender_type, sbs: 1001, title: "标题" }));
      expect(created).toMatchObject({ status: 200, envelope: { code: 1, msg: "ok" } });
      const { chat_id } = created.envelope.data as { chat_id: number };
      for (const kefu_ids of ["10427, 10428", [10428, 10429]]) {
        const answer = await send(app, "add_kf", { ...stamp(app), chat_id, kefu_ids });
        expect(answer).toMatchObject({ status: 200, envelope: { code: 1, msg: "ok", data: "" } });
      }
      const { status, sender, sender_uid } = expected;
      expect(await worker.admin("GET", `/admin/sites/${app.siteId}/sessions/${chat_id}`)).toMatchObject({
        kind: "ticket",
        status,
        responsible_agent_id: 10411,
        visitor_title: "标题",
        agent_title: "标题",
        auto_title: "Initial message 👋",
        customer: { sbs: "1001", name: "客户", ip: "2001:db8::1" },
        participants: [10427, 10428, 10429].map((agent_id) => ({ agent_id, added_by: 10411 })),
        messages: [{ sender, sender_uid, content: "Initial message 👋" }],
      });
    },
  );

  it("the built Worker refuses what the contract refuses, and stores no session", async () => {
    const app = await worker.provision();
    const other = await worker.provision();
    const foreign = (await send(other, "create_gd", createBody(other))).envelope.data as { chat_id: number };
    const now = Math.floor(Date.now() / 1000);
    const refusals: [Operation, Record<string, unknown>, number, string, Record<string, string>?][] = [
      ["create_gd", createBody(app), 401, "token验证失败!", { "x-chat-signature": "0".repeat(64) }],
      ["create_gd", createBody({ ...app, appid: "unknown" }), 401, "token验证失败!"],
      ["create_gd", createBody(app, { timestamp: now - 400 }), 401, "token验证失败!"],
      ["create_gd", createBody(app, { timestamp: now + 400 }), 401, "token验证失败!"],
      ["create_gd", createBody(app, { fzr_uid: 10427 }), 400, "参数错误"],
      ["create_gd", createBody(app, { sender_type: 4 }), 400, "参数错误"],
      ["create_gd", createBody(app, { kefu_id: [10411, 404] }), 400, "参数错误"],
      ["add_kf", { ...stamp(app), ...foreign, kefu_ids: "10427" }, 404, "会话不存在"],
      ["add_kf", { ...stamp(other), ...foreign, kefu_ids: "10411" }, 409, "当前状态不允许操作"],
    ];
    for (const [operation, body, status, msg, headers] of refusals) {
      const answer = await send(body.appid === other.appid ? other : app, operation, body, headers);
      expect({ body, status: answer.status, envelope: answer.envelope }).toEqual({
        body,
        status,
        envelope: failure(msg),
      });
      expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(await worker.admin("GET", `/admin/sites/${app.siteId}/sessions`)).toMatchObject({ items: [] });
  });

  it("the built Worker accepts one of 50 identical requests", async () => {
    const app = await worker.provision();
    const body = createBody(app);
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(app, "create_gd", body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(49).fill(401)]);
    const { items } = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${app.siteId}/sessions`);
    expect(items).toHaveLength(1);
  });

  it("the built Worker refuses a revoked app on the very next request", async () => {
    const app = await worker.provision();
    expect((await send(app, "create_gd", createBody(app))).status).toBe(200);
    await worker.admin("DELETE", `/admin/apps/${app.appid}`);
    expect(await send(app, "create_gd", createBody(app))).toMatchObject({
      status: 401,
      envelope: failure("token验证失败!"),
    });
  });

  it.each([
    ["GET", "/openapi/chat/create_gd", 405, "请求方法错误", "POST"],
    ["POST", "/openapi/chat/nothing", 404, "接口不存在", null],
  ])("the built Worker answers %s %s with the envelope", async (method, path, status, msg, allow) => {
    const answer = await fetch(worker.url + path, { method });
    expect({ status: answer.status, allow: answer.headers.get("allow") }).toEqual({ status, allow });
    expect(await answer.json()).toEqual(failure(msg));
  });

  it("the built Worker answers HEAD without a body", async () => {
    const answer = await fetch(`${worker.url}/openapi/chat/add_kf`, { method: "HEAD" });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("x-request-id")).not.toBeNull();
    expect(await answer.text()).toBe("");
  });

  it("the built Worker logs one line for a request, with its id and reason and without secrets or personal data", async () => {
    const app = await worker.provision();
    const body = createBody(app, { kefu_id: [10411, 404] });
    const { headers, signature } = await send(app, "create_gd", body);
    const id = headers.get("x-request-id") ?? "";
    await expect.poll(() => worker.logs().filter((line) => line.includes(id))).toHaveLength(1);
    const line = JSON.parse(worker.logs().find((each) => each.includes(id)) ?? "{}");
    expect(line).toMatchObject({ appid: app.appid, status: 400, outcome: "refused", reason: "agents_invalid" });
    const all = worker.logs().join("\n");
    for (const secret of [app.secret, worker.adminToken, signature, "客户", "Initial message"]) {
      expect(all).not.toContain(secret);
    }
  });
});

describe("a body over HTTP", () => {
  const padded = (app: App, length: number) => {
    const text = JSON.stringify(createBody(app));
    return text + " ".repeat(length - new TextEncoder().encode(text).length);
  };

  it("a body over HTTP may be 64 KiB long, and not a byte longer", async () => {
    const app = await worker.provision();
    expect((await send(app, "create_gd", padded(app, 65_536))).status).toBe(200);
    const tooLong = await send(app, "create_gd", padded(app, 65_537));
    expect(tooLong).toMatchObject({ status: 413, envelope: failure("参数错误") });
  });

  it("a body over HTTP may come in chunks", async () => {
    const app = await worker.provision();
    const text = padded(app, 5_000);
    const bytes = new TextEncoder().encode(text);
    const chunks = new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 100) controller.enqueue(bytes.subarray(at, at + 100));
        controller.close();
      },
    });
    const answer = await fetch(`${worker.url}/openapi/chat/create_gd`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-chat-signature": signed(app, text) },
      body: chunks,
      duplex: "half",
    } as RequestInit);
    expect(await answer.json()).toMatchObject({ code: 1, msg: "ok" });
  });

  it("an endless upload is answered with 413 while it goes on", async () => {
    let answer = "";
    // On a busy machine the proxy before the Worker may end the connection before it has passed the answer on.
    for (let upload = 0; upload < 3 && answer === ""; upload++) answer = await uploadForEver(new URL(worker.url));
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain(JSON.stringify(failure("参数错误")));
  });

  it("a body with a content coding is answered with 415", async () => {
    const app = await worker.provision();
    const answer = await send(app, "create_gd", createBody(app), { "content-encoding": "gzip" });
    expect(answer).toMatchObject({ status: 415, envelope: failure("参数错误") });
  });
});

/** Sends chunks until an answer comes. It fails when the service took 64 MiB without an answer. */
function uploadForEver({ hostname, port }: URL): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
    let answer = "";
    let sent = 0;
    // The chunks are slow, because the proxy drops an answer that arrives while it is still taking chunks.
    const pump = () => {
      if (answer !== "" || socket.destroyed) return;
      sent += 0x4000;
      if (sent > 64 * 1024 * 1024) socket.destroy(new Error("no answer to 64 MiB"));
      else socket.write(chunk, () => setTimeout(pump, 5));
    };
    socket.on("connect", () => {
      socket.write(
        "POST /openapi/chat/create_gd HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
      );
      pump();
    });
    socket.on("data", (data) => {
      answer += data;
      if (answer.includes('"data":""}')) socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}

function stamp({ appid }: App) {
  return { appid, timestamp: Math.floor(Date.now() / 1000), ranstr: randomUUID() };
}

function createBody(app: App, change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    ...stamp(app),
    sbs: "customer_001",
    ip: "2001:db8::1",
    sbs_mc: "客户",
    content: "Initial message 👋",
    kefu_id: [10411],
    fzr_uid: 10411,
    ...change,
  };
}

/** The signature, by another implementation than the Worker's. */
const signed = (app: App, text: string) => createHmac("sha256", app.secret).update(text).digest("hex");

async function send(
  app: App,
  operation: Operation,
  body: Record<string, unknown> | string,
  headers: Record<string, string> = {},
) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const signature = signed(app, text);
  const answer = await fetch(`${worker.url}/openapi/chat/${operation}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-chat-signature": signature, ...headers },
    body: text,
  });
  const envelope = (await answer.json()) as { code: number; msg: string; data: unknown };
  return { status: answer.status, headers: answer.headers, envelope, signature };
}
