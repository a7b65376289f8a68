import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { seedAgents } from "../../support/seed-agents.ts";
import { INVALID_PARAMETERS, rowsAdded } from "../../support/signed-routes.ts";
import { type Body, World } from "../../support/world.ts";
import { notA } from "../../support/wrong-type-text.ts";
import { refusedBodies } from "./refused-bodies.ts";

const MOST = Number.MAX_SAFE_INTEGER;
const from = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);
const AGENT_ID = "must be an integer from 1 to 9007199254740991";
const AGENTS_RULE = "must be an array of 1 to 100 agent ids (one named twice counts once)";

describe("agents of create_gd", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.create();
    await seedAgents(world, [MOST, ...from(101, 100)]);
    await seedAgents(await World.create(), [777]);
  });
  const refusal = refusedBodies("create_gd");

  it.each<[string, Body, number, number[]]>([
    ["the responsible agent alone", { kefu_id: [1], fzr_uid: 1 }, 1, []],
    ["the responsible agent last", { kefu_id: [3, 2, 1], fzr_uid: 1 }, 1, [2, 3]],
    ["one named twice", { kefu_id: [2, 2, 3], fzr_uid: 3 }, 3, [2]],
    ["the responsible agent named twice", { kefu_id: [1, 2, 1], fzr_uid: 1 }, 1, [2]],
    ["whole numbers with a point", { kefu_id: [1.0, 2], fzr_uid: 1.0 }, 1, [2]],
    ["the greatest id", { kefu_id: [MOST, 1], fzr_uid: MOST }, MOST, [1]],
    ["100 agents", { kefu_id: from(101, 100), fzr_uid: 150 }, 150, from(101, 100).filter((id) => id !== 150)],
    [
      "100 agents named ten times each",
      { kefu_id: Array(10).fill(from(101, 100)).flat(), fzr_uid: 101 },
      101,
      from(102, 99),
    ],
  ])(
    "the agents of create_gd may be %s, and all except the responsible one become participants",
    async (_, change, responsible, others) => {
      const chatId = await world.chatId(change);
      const { sessions, participants } = await world.stored();
      expect(sessions.find(({ id }) => id === chatId)).toMatchObject({ responsible_agent_id: responsible });
      const members = participants.filter(({ session_id }) => session_id === chatId);
      expect(members.map(({ agent_id, added_by }) => [agent_id, added_by])).toEqual(
        others.map((id) => [id, responsible]),
      );
    },
  );

  it.each<[string, Body, string]>([
    ["unknown", { kefu_id: [1, 404] }, "404 unknown"],
    ["disabled", { kefu_id: [4, 1] }, "4 disabled"],
    ["responsible and unknown", { kefu_id: [404], fzr_uid: 404 }, "404 unknown"],
    ["responsible and disabled", { kefu_id: [1, 4], fzr_uid: 4 }, "4 disabled"],
    ["unknown and disabled, many at once", { kefu_id: [1, 500, 4, 404, 404] }, "404 unknown, 500 unknown, 4 disabled"],
    ["of another site", { kefu_id: [1, 777] }, "777 unknown"],
  ])("the agents of create_gd are 参数错误 when %s, and only the ranstr is stored", async (_, change, agents) => {
    const before = await world.stored();
    const { status, envelope, headers } = await world.create(change);
    expect({ status, envelope }).toEqual({ status: 400, envelope: INVALID_PARAMETERS });
    expect(headers.get("x-error-detail")).toBe(`kefu_id: ${agents}`);
    expect(rowsAdded(before, await world.stored())).toEqual({ nonces: 1 });
  });

  it("refused agents of create_gd are named with reasons in at most 3,000 characters, in one batch", async () => {
    const ownWorld = await World.create();
    await ownWorld.chatId();
    const faults = new Faults();
    const isolate = ownWorld.anotherIsolate({ DB: faultyD1(env.DB, faults) });
    await isolate.create();
    faults.calls.length = 0;
    const unknown = from(MOST - 99, 100);
    const { status, headers } = await isolate.create({ kefu_id: unknown, fzr_uid: MOST });
    const detail = headers.get("x-error-detail") ?? "";
    expect([status, faults.calls]).toEqual([400, ["DB.batch"]]);
    expect(detail.length).toBeLessThan(3_100);
    expect(detail.split(", ")).toHaveLength(100);
    expect(detail.startsWith(`kefu_id: ${unknown[0]} unknown, `)).toBe(true);
  });

  it("a change of an agent's status is effective in create_gd at once", async () => {
    const ownWorld = await World.create();
    const set = (status: string) => ownWorld.admin("PATCH", `/admin/sites/${ownWorld.siteId}/agents/2`, { status });
    await ownWorld.chatId();
    await set("disabled");
    expect((await ownWorld.create()).status).toBe(400);
    await set("normal");
    await ownWorld.chatId();
  });

  it.each<[string, Body, string]>([
    ["no array", { kefu_id: "1,2" }, `kefu_id: ${AGENTS_RULE}, not a string`],
    ["a number", { kefu_id: 1 }, `kefu_id: ${AGENTS_RULE}, not a number`],
    ["an object", { kefu_id: { 0: 1, length: 1 } }, `kefu_id: ${AGENTS_RULE}, not an object`],
    ["null", { kefu_id: null }, `kefu_id: ${AGENTS_RULE}, not null`],
    ["true", { kefu_id: true }, `kefu_id: ${AGENTS_RULE}, not true or false`],
    ["missing", { kefu_id: undefined }, "kefu_id: is required"],
    ["101 agents", { kefu_id: from(1, 101) }, `kefu_id: ${AGENTS_RULE}`],
    ["strings", { kefu_id: [1, "2"] }, `kefu_id: item 2 ${AGENT_ID}, not a string`],
    ["a fraction", { kefu_id: [1, 2.5] }, `kefu_id: item 2 ${AGENT_ID}`],
    ["zero", { kefu_id: [0, 1] }, `kefu_id: item 1 ${AGENT_ID}`],
    ["negative", { kefu_id: [1, -1] }, `kefu_id: item 2 ${AGENT_ID}`],
    ["past 2^53", { kefu_id: [1, 2 ** 53] }, `kefu_id: item 2 ${AGENT_ID}`],
    ["null inside", { kefu_id: [1, null] }, `kefu_id: item 2 ${AGENT_ID}, not null`],
    ["nested", { kefu_id: [1, [2]] }, `kefu_id: item 2 ${AGENT_ID}, not an array`],
    ["without the responsible one", { kefu_id: [2, 3], fzr_uid: 1 }, "fzr_uid: must be one of kefu_id"],
    ["with a responsible one in a string", { fzr_uid: "1" }, `fzr_uid: ${AGENT_ID}, not a string`],
    ["with a responsible one of zero", { kefu_id: [1], fzr_uid: 0 }, `fzr_uid: ${AGENT_ID}`],
    ["with a responsible one that is a fraction", { fzr_uid: 1.5 }, `fzr_uid: ${AGENT_ID}`],
    ["with a responsible one of null", { fzr_uid: null }, `fzr_uid: ${AGENT_ID}, not null`],
    ["with no responsible one", { fzr_uid: undefined }, "fzr_uid: is required"],
  ])("the agents of create_gd are 参数错误 when %s, and nothing is stored", async (_, change, detail) =>
    expect(await refusal((of) => of.createBody(change))).toBe(detail),
  );

  it("the agents of create_gd are 参数错误 as an empty array, and nothing is stored", async () => {
    expect(await refusal((of) => of.createBody({ kefu_id: [] }))).toContain(`kefu_id: ${AGENTS_RULE}`);
  });
});

describe("sender_type of create_gd", () => {
  const refusal = refusedBodies("create_gd");

  it.each([0, 4, -1, 1.5, "1", "2", "", null, true, [2], {}])(
    "sender_type of create_gd may not be %j",
    async (sender_type) =>
      expect(await refusal((of) => of.createBody({ sender_type }))).toBe(
        `sender_type: must be the integer 1, 2 or 3${sender_type === "" || sender_type === null ? ", or left out" : notA(sender_type, "a number")}`,
      ),
  );
});
