import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { ACCEPTED_VECTOR, DOCUMENTED_VECTOR, VECTOR_SECRET } from "../../../src/tools/openapi/signature-vectors.ts";
import { seedAgents } from "../../support/seed-agents.ts";
import { seedSession } from "../../support/seed-session.ts";
import { hmac, World } from "../../support/world.ts";

/** The examples as the contract's hosted product documents them. */
const APPID = "42d7c13c16e7ed0479f2418eb8894310";
const TIMESTAMP = 1_781_683_144;
const CHAT_ID = 900_220;
const CREATE =
  '{"appid":"42d7c13c16e7ed0479f2418eb8894310","timestamp":1781683144,"ranstr":"codex1033048655","sbs":"customer_001","kefu_id":[10411,10427],"fzr_uid":10411,"ip":"127.0.0.1","sbs_mc":"Customer Name","content":"Initial message","title":"Order Consultation"}';
const ADD_STRING =
  '{"appid":"42d7c13c16e7ed0479f2418eb8894310","timestamp":1781683144,"ranstr":"codex1033048655","chat_id":900220,"kefu_ids":"10427,10428"}';
const ADD_ARRAY =
  '{"appid":"42d7c13c16e7ed0479f2418eb8894310","timestamp":1781683144,"ranstr":"codex1033048655","chat_id":900220,"kefu_ids":[10427,10428]}';

/** An empty deployment that imported the documented app, with a clock that shows the documented second. */
async function documentedWorld(secret = "a secret of the caller's own"): Promise<World> {
  const world = await World.create();
  world.clock.now = TIMESTAMP;
  const fields = { name: "Documented", appid: APPID, secret };
  expect((await world.admin("POST", `/admin/sites/${world.siteId}/apps`, fields)).status).toBe(201);
  Object.assign(world, fields);
  await seedAgents(world, [10411, 10427, 10428]);
  return world;
}

async function answerText(world: World, operation: string, body: string): Promise<string> {
  const headers = {
    Accept: "application/json",
    "Content-Type": "application/json",
    "x-chat-signature": await hmac(world.secret, body),
  };
  const response = await world.fetch(
    new Request(`http://worker/openapi/chat/${operation}`, { method: "POST", headers, body }),
  );
  expect(response.status).toBe(200);
  return response.text();
}

describe("the documented examples, byte for byte", () => {
  beforeEach(async () => {
    await reset();
    await applyD1Migrations(env.DB, env.MIGRATIONS);
  });

  it("the documented example of create_gd creates a session, byte for byte", async () => {
    const world = await documentedWorld();
    await seedSession(world, { id: CHAT_ID - 1 });
    expect(await answerText(world, "create_gd", CREATE)).toBe('{"code":1,"msg":"ok","data":{"chat_id":900220}}');
    const { sessions, participants, messages } = await world.stored();
    expect(sessions[1]).toMatchObject({
      id: CHAT_ID,
      responsible_agent_id: 10411,
      status: "replied",
      visitor_title: "Order Consultation",
      agent_title: "Order Consultation",
    });
    expect(participants).toMatchObject([{ session_id: CHAT_ID, agent_id: 10427, added_by: 10411 }]);
    expect(messages).toMatchObject([{ session_id: CHAT_ID, sender_uid: 10411, content: "Initial message" }]);
  });

  it.each([
    ["a string", ADD_STRING],
    ["an array", ADD_ARRAY],
  ])("the documented example of add_kf adds agents as %s, byte for byte", async (_, body) => {
    const world = await documentedWorld();
    await seedSession(world, { id: CHAT_ID, responsibleAgentId: 10411 });
    expect(await answerText(world, "add_kf", body)).toBe('{"code":1,"msg":"ok","data":""}');
    expect((await world.stored()).participants).toMatchObject([
      { session_id: CHAT_ID, agent_id: 10427, added_by: 10411 },
      { session_id: CHAT_ID, agent_id: 10428, added_by: 10411 },
    ]);
  });

  it("the documented examples work one after the other, each with its own ranstr", async () => {
    const world = await documentedWorld();
    const created = JSON.parse(await answerText(world, "create_gd", CREATE)) as { data: { chat_id: number } };
    const next = (body: string, ranstr: string) =>
      body.replace("codex1033048655", ranstr).replace("900220", String(created.data.chat_id));
    await answerText(world, "add_kf", next(ADD_STRING, "codex1033048656"));
    expect((await world.stored()).participants.map(({ agent_id }) => agent_id)).toEqual([10427, 10428]);
    const signature = await hmac(world.secret, next(ADD_ARRAY, "codex1033048657"));
    const secondAnswer = await world.sendRaw("add_kf", next(ADD_ARRAY, "codex1033048657"), {
      "x-chat-signature": signature,
    });
    expect(secondAnswer.envelope).toEqual({ code: -1, msg: "当前状态不允许操作", data: "" });
  });
});

describe("the signature vectors of the docs and the README", () => {
  it.each([ACCEPTED_VECTOR, DOCUMENTED_VECTOR])(
    "the signature vectors of the docs and the README are right: %o",
    async ({ body, signature }) => {
      expect(await hmac(VECTOR_SECRET, body)).toBe(signature);
    },
  );

  it("the documented vectors are accepted at their timestamp, and open a session as the docs say", async () => {
    await reset();
    await applyD1Migrations(env.DB, env.MIGRATIONS);
    const world = await documentedWorld(VECTOR_SECRET);
    const { body, signature } = ACCEPTED_VECTOR;
    const answer = await world.sendRaw("create_gd", body, { "x-chat-signature": signature });
    expect(answer).toMatchObject({ status: 200, envelope: { code: 1, msg: "ok" } });
    const { sessions, customers, messages } = await world.stored();
    expect(sessions).toMatchObject([{ responsible_agent_id: 10411, visitor_title: "订单" }]);
    expect(customers).toMatchObject([{ external_id: "customer_001", name: "王伟" }]);
    expect(messages).toMatchObject([{ content: "我的订单在哪里？" }]);
  });

  it("the documented vectors are refused later, only because of their timestamp", async () => {
    await reset();
    await applyD1Migrations(env.DB, env.MIGRATIONS);
    const world = await documentedWorld(VECTOR_SECRET);
    world.clock.now += 301;
    const { body, signature } = ACCEPTED_VECTOR;
    const answer = await world.sendRaw("create_gd", body, { "x-chat-signature": signature });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("x-error-detail")).toMatch(/^timestamp: /);
  });
});
