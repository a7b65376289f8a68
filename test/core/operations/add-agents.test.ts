import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { replacing } from "../../support/replacing.ts";
import { seedAgents } from "../../support/seed-agents.ts";
import { seedSession } from "../../support/seed-session.ts";
import { rowsAdded } from "../../support/signed-routes.ts";
import { type Body, NOW, World } from "../../support/world.ts";

const OK = { code: 1, msg: "ok", data: "" };
const NOT_FOUND = { code: -1, msg: "会话不存在", data: "" };
const STATE_FORBIDS = { code: -1, msg: "当前状态不允许操作", data: "" };
const nobody = (why: string) => `kefu_ids: nobody to add: ${why}`;

describe("add_kf", () => {
  let shared: Awaited<ReturnType<typeof siteWithSession>>;
  beforeAll(async () => {
    shared = await siteWithSession();
  });

  it("add_kf makes valid new agents participants, added by the responsible agent, and changes nothing else", async () => {
    const world = await World.create();
    const chatId = await world.chatId({ kefu_id: [2, 1], fzr_uid: 2, title: "Title" });
    const before = await world.stored();
    world.clock.now += 60;
    const { status, envelope } = await world.add(chatId, { kefu_ids: "3" });
    expect({ status, envelope }).toEqual({ status: 200, envelope: OK });
    const after = await world.stored();
    expect(after.participants).toEqual([
      { site_id: world.siteId, session_id: chatId, agent_id: 1, added_by: 2, added_at: NOW },
      { site_id: world.siteId, session_id: chatId, agent_id: 3, added_by: 2, added_at: NOW + 60 },
    ]);
    expect(rowsAdded(before, after)).toEqual({ participants: 1, nonces: 1 });
    expect(after.sessions).toEqual(before.sessions);
    expect(after.messages).toEqual(before.messages);
  });

  it.each<[string, unknown, number[]]>([
    ["one id in a string", "3", [2, 3]],
    ["a string", "3,101", [2, 3, 101]],
    ["an array", [101, 3], [2, 3, 101]],
    ["one already there", "2,3", [2, 3]],
    ["the responsible agent", [1, 3], [2, 3]],
    ["one disabled", "4,3", [2, 3]],
    ["one unknown", [404, 3], [2, 3]],
    ["one of another site", "777,3", [2, 3]],
    ["one named twice", "3,3,3", [2, 3]],
    ["all of that", [3, 1, 2, 4, 404, 777, 3, 101], [2, 3, 101]],
    ["the greatest id", "9007199254740991", [2, Number.MAX_SAFE_INTEGER]],
  ])("add_kf takes %s and lets the valid new agents join", async (_, kefu_ids, agentIds) => {
    const { world } = shared;
    const chatId = await world.chatId();
    expect((await world.add(chatId, { kefu_ids })).envelope).toEqual(OK);
    const { participants } = await world.stored();
    const members = participants.filter(({ session_id }) => session_id === chatId);
    expect(members.map(({ agent_id, added_by }) => [agent_id, added_by])).toEqual(agentIds.map((id) => [id, 1]));
  });

  it.each<[string, unknown, string]>([
    ["already there", "2", "2 already on the session"],
    ["the responsible one", [1], "1 already on the session"],
    ["disabled", "4", "4 disabled"],
    ["unknown", [404], "404 unknown"],
    ["of another site", "777", "777 unknown"],
    [
      "one of these",
      [777, 1, 2, 4, 404],
      "404 unknown, 777 unknown, 4 disabled, 1 already on the session, 2 already on the session",
    ],
  ])(
    "add_kf refuses when every agent is %s, names each agent with the reason, and stores only the ranstr",
    async (_, kefu_ids, why) => {
      const { world, chatId } = shared;
      await expectRefused(world, () => world.add(chatId, { kefu_ids }), 409, STATE_FORBIDS, nobody(why));
    },
  );

  it("add_kf names left-out agents with reasons in x-ignored-agents, and omits the header when all join", async () => {
    const { world, chatId } = await siteWithSession();
    const typo = await world.add(chatId, { kefu_ids: "777,3,4,2" });
    expect(typo.envelope).toEqual(OK);
    expect(typo.headers.get("x-ignored-agents")).toBe("777 unknown, 4 disabled, 2 already on the session");
    const all = await world.add(chatId, { kefu_ids: "101" });
    expect(all.envelope).toEqual(OK);
    expect(all.headers.has("x-ignored-agents")).toBe(false);
  });

  it("add_kf names a hundred agents with the longest ids in at most 3,000 characters", async () => {
    const { world } = await siteWithSession();
    const long = Array.from({ length: 99 }, (_, i) => Number.MAX_SAFE_INTEGER - 99 + i);
    await seedAgents(world, long);
    const chatId = await world.chatId({ kefu_id: [1, ...long] });
    const unknown = Array.from({ length: 99 }, (_, i) => 10_000 + i);
    const usual = await world.add(chatId, { kefu_ids: [2, ...unknown] });
    expect(usual.envelope).toEqual(OK);
    expect(usual.headers.get("x-ignored-agents")?.split(", ")).toEqual(unknown.map((id) => `${id} unknown`));
    const { headers } = await world.add(chatId, { kefu_ids: [3, ...long] });
    expect(headers.get("x-ignored-agents")).toBe(`already on the session: ${long.join(" ")}`);
    const nobodyLeft = await world.add(chatId, { kefu_ids: [1, ...long] });
    expect(nobodyLeft.headers.get("x-error-detail")).toBe(
      `kefu_ids: nobody to add: already on the session: 1 ${long.join(" ")}`,
    );
  });

  it("add_kf sees a change of an agent's status at once", async () => {
    const { world, chatId } = await siteWithSession();
    const set = (id: number, status: string) =>
      world.admin("PATCH", `/admin/sites/${world.siteId}/agents/${id}`, { status });
    await set(3, "disabled");
    await expectRefused(world, () => world.add(chatId), 409, STATE_FORBIDS, nobody("3 disabled"));
    await set(3, "normal");
    expect((await world.add(chatId)).envelope).toEqual(OK);
  });

  it("add_kf lets valid agents join although the responsible agent was disabled meanwhile", async () => {
    const { world, chatId } = await siteWithSession();
    await world.admin("PATCH", `/admin/sites/${world.siteId}/agents/1`, { status: "disabled" });
    expect((await world.add(chatId)).envelope).toEqual(OK);
  });

  it("add_kf refuses a session that is no ticket", async () => {
    const { world } = shared;
    const chatId = await seedSession(world, { kind: "chat" });
    const detail = "chat_id: is not a ticket session";
    await expectRefused(world, () => world.add(chatId), 409, STATE_FORBIDS, detail);
  });

  it("add_kf refuses a session without a responsible agent", async () => {
    const { world } = shared;
    const chatId = await seedSession(world, { responsibleAgentId: null });
    const detail = "chat_id: the session has no responsible agent";
    await expectRefused(world, () => world.add(chatId), 409, STATE_FORBIDS, detail);
  });

  it("add_kf treats another site's session as one that does not exist, and changes neither site", async () => {
    const { world, other } = await siteWithSession();
    await other.chatId();
    // Ids count per site, so the other site's second session has an id that this site has not given yet.
    const foreign = await other.chatId();
    expect((await world.stored()).sessions.map(({ id }) => id)).not.toContain(foreign);
    const before = await other.stored();
    await expectNotFound(world, () => world.add(foreign));
    expect(await other.stored()).toEqual(before);
  });

  it.each(["0", "-1", "1e3", "9007199254740991", "-9007199254740991", "999999999"])(
    "add_kf finds no session with the chat_id %s",
    async (chatId) => {
      const { world } = shared;
      await expectNotFound(world, () => world.send("add_kf", bodyWith(world, chatId)));
    },
  );

  it("simultaneous add_kf requests with overlapping agents add each agent once, and fail only when none is left", async () => {
    const { world, chatId } = await siteWithSession();
    const lists = Array.from({ length: 12 }, (_, i) => ["3,101", "1,3", "101,4"][i % 3]);
    const answers = await Promise.all(lists.map((kefu_ids) => world.add(chatId, { kefu_ids })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
    expect((await world.stored()).participants.map(({ agent_id }) => agent_id)).toEqual([2, 3, 101]);
  });
});

/** A session with the agents 1 (responsible) and 2. Agents 3 and 101 may join, 4 is disabled, 777 is another site's, 404 does not exist. */
async function siteWithSession(): Promise<{ world: World; other: World; chatId: number }> {
  const [world, other] = [await World.create(), await World.create()];
  await seedAgents(world, [101, Number.MAX_SAFE_INTEGER]);
  await seedAgents(other, [777]);
  return { world, other, chatId: await world.chatId() };
}

async function expectRefused(
  world: World,
  act: () => ReturnType<World["add"]>,
  expectedStatus: number,
  expected: Body,
  detail: string,
): Promise<void> {
  const before = await world.stored();
  const { status, envelope, headers } = await act();
  expect({ status, envelope }).toEqual({ status: expectedStatus, envelope: expected });
  expect(headers.get("x-error-detail")).toBe(detail);
  expect(rowsAdded(before, await world.stored())).toEqual({ nonces: 1 });
}

function expectNotFound(world: World, act: () => ReturnType<World["add"]>): Promise<void> {
  return expectRefused(world, act, 404, NOT_FOUND, "chat_id: no such session on this site");
}

/** An add_kf body with this exact spelling of chat_id. */
function bodyWith(world: World, chatId: string): string {
  return JSON.stringify(world.addBody(-7)).replace('"chat_id":-7', `"chat_id":${chatId}`);
}

/** A database that loses the first batch, or its answer. */
function losingTheFirst(what: "request" | "answer", meanwhile: () => Promise<unknown> = async () => {}) {
  const lossy = {
    tries: 0,
    DB: replacing(env.DB, {
      batch: async (statements: D1PreparedStatement[]) => {
        if (++lossy.tries > 1) return env.DB.batch(statements);
        if (what === "answer") await env.DB.batch(statements);
        await meanwhile();
        throw new Error("Network connection lost.");
      },
    }),
  };
  return lossy;
}

describe("the Worker's own retry", () => {
  it("the Worker's retry adds no agent who became valid after the try whose answer was lost", async () => {
    const plain = await World.create();
    const lossy = losingTheFirst("answer", () =>
      env.DB.prepare("UPDATE agents SET status = 'normal' WHERE site_id = ? AND id = 4").bind(plain.siteId).run(),
    );
    const chatId = await plain.chatId();
    const { envelope } = await plain.anotherIsolate({ DB: lossy.DB }).add(chatId, { kefu_ids: "3,4" });
    expect([envelope, lossy.tries]).toEqual([OK, 2]);
    expect((await plain.stored()).participants.map((each) => each.agent_id)).toEqual([2, 3]);
  });

  it("the Worker's retry names all left-out agents in its refusal, also those who joined in the same second", async () => {
    const lossy = losingTheFirst("request");
    const plain = await World.create();
    const chatId = await plain.chatId();
    expect((await plain.add(chatId)).envelope).toEqual(OK);
    const { headers } = await plain.anotherIsolate({ DB: lossy.DB }).add(chatId);
    expect([lossy.tries, headers.get("x-error-detail")]).toEqual([2, nobody("3 already on the session")]);
  });

  it("the Worker's retry does not report an agent as disabled who joined by the first try", async () => {
    const plain = await World.create();
    const lossy = losingTheFirst("answer", () =>
      env.DB.prepare("UPDATE agents SET status = 'disabled' WHERE site_id = ? AND id = 3").bind(plain.siteId).run(),
    );
    const chatId = await plain.chatId();
    const { envelope, headers } = await plain.anotherIsolate({ DB: lossy.DB }).add(chatId, { kefu_ids: "3,4" });
    expect([envelope, lossy.tries]).toEqual([OK, 2]);
    expect(headers.get("x-ignored-agents")).toBe("4 disabled");
    expect((await plain.stored()).participants.map((each) => each.agent_id)).toEqual([2, 3]);
  });

  it("the Worker's retry distinguishes agents of the first try from agents who were there before", async () => {
    const lossy = losingTheFirst("answer");
    const plain = await World.create();
    const chatId = await plain.chatId();
    plain.clock.now += 1;
    const { envelope, headers } = await plain.anotherIsolate({ DB: lossy.DB }).add(chatId, { kefu_ids: "2,3,404" });
    expect([envelope, lossy.tries]).toEqual([OK, 2]);
    expect(headers.get("x-ignored-agents")).toBe("404 unknown, 2 already on the session");
  });
});
