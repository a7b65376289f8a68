import { beforeAll, describe, expect, it } from "vitest";
import { seedAgents } from "../../support/seed-agents.ts";
import { type Body, World } from "../../support/world.ts";
import { notA } from "../../support/wrong-type-text.ts";
import { refusedBodies } from "./refused-bodies.ts";

const from = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);
const IDS_RULE =
  "must be 1 to 100 agent ids (one named twice counts once), as positive integers between commas or as an array";
const AGENT_ID = "must be an integer from 1 to 9007199254740991";
const COMMA = 'must be one id: write "," between ids';
const IN_DIGITS =
  "must be a positive integer in digits 0 to 9, without leading zeros, quotes, brackets or blanks other than ASCII spaces";

let world: World;
beforeAll(async () => {
  world = await World.create();
  await seedAgents(world, from(101, 101));
});
/** A session with agent 1 alone; agents 3 and 101 to 201 may join. */
const newSession = () => world.chatId({ kefu_id: [1] });

describe("kefu_ids of add_kf", () => {
  const send = refusedSessions();

  it.each<[string, unknown, number[]]>([
    ["blanks around ids", " 3 ,\t101 ", [3, 101]],
    ["blanks around one id", "  3  ", [3]],
    ["whole numbers with a point in an array", [3.0], [3]],
    ["100 ids in a string", from(101, 100).join(","), from(101, 100)],
    ["100 ids in an array", from(101, 100), from(101, 100)],
    ["100 ids named ten times each", Array(10).fill(from(101, 100).join(",")).join(","), from(101, 100)],
  ])("kefu_ids of add_kf may have %s", async (_, kefu_ids, agentIds) => {
    const chatId = await newSession();
    expect((await world.add(chatId, { kefu_ids })).status).toBe(200);
    const { participants } = await world.stored();
    const members = participants.filter(({ session_id }) => session_id === chatId);
    expect(members.map(({ agent_id }) => agent_id)).toEqual(agentIds);
  });

  it.each<[string, unknown, string]>([
    ["empty", "", IDS_RULE],
    ["blank", " ", "item 1 is empty"],
    ["a comma", ",", "item 1 is empty"],
    ["a trailing comma", "3,", "item 2 is empty: end the list without a comma"],
    ["a leading comma", ",3", "item 1 is empty"],
    ["two commas in a row", "3,,101", "item 2 is empty"],
    ["a blank between commas", "3, ,101", "item 2 is empty"],
    ["a blank between ids", "3 101", `item 1 ${COMMA}`],
    ["a leading zero", "03", `item 1 ${IN_DIGITS}`],
    ["zero", "0", `item 1 ${IN_DIGITS}`],
    ["a zero among others", "3,0", `item 2 ${IN_DIGITS}`],
    ["a minus", "-3", `item 1 ${IN_DIGITS}`],
    ["a plus", "+3", `item 1 ${IN_DIGITS}`],
    ["a fraction", "3.0", `item 1 ${IN_DIGITS}`],
    ["an exponent", "1e2", `item 1 ${IN_DIGITS}`],
    ["hex", "0x3", `item 1 ${IN_DIGITS}`],
    ["semicolons", "3;101", `item 1 ${COMMA}`],
    ["full-width semicolons, in the second item", "3,4； 101", `item 2 ${COMMA}`],
    ["line breaks between ids", "3\n101", `item 1 ${COMMA}`],
    ["a plus between ids", "3+101", `item 1 ${COMMA}`],
    ["an ampersand between ids", "3&101", `item 1 ${COMMA}`],
    ["an ideographic blank between ids", "3\u3000101", `item 1 ${COMMA}`],
    ["a word between ids", "3和101", `item 1 ${COMMA}`],
    ["a full-width comma", "3，101", 'item 1 has a full-width comma: write ","'],
    ["full-width digits", "３", `item 1 ${IN_DIGITS}`],
    ["a full-width digit among others", "3１0", `item 1 ${IN_DIGITS}`],
    ["an ideographic blank", "3,\u3000101", `item 2 ${IN_DIGITS}`],
    ["a line break", "3\n,101", `item 1 ${IN_DIGITS}`],
    ["a line break at the end", "3\n", `item 1 ${IN_DIGITS}`],
    ["a no-break space", "3,\u00a0101", `item 2 ${IN_DIGITS}`],
    ["brackets", "[3]", `item 1 ${IN_DIGITS}`],
    ["a word", "all", `item 1 ${IN_DIGITS}`],
    ["an id past 2^53", "9007199254740992", `item 1 ${AGENT_ID}`],
    ["an id past all numbers", "9".repeat(400), `item 1 ${AGENT_ID}`],
    ["101 ids in a string", from(101, 101).join(","), IDS_RULE],
    ["101 ids in an array", from(101, 101), IDS_RULE],
    ["an empty array", [], IDS_RULE],
    ["a number", 3, `${IDS_RULE}, not a number`],
    ["null", null, `${IDS_RULE}, not null`],
    ["a boolean", true, `${IDS_RULE}, not true or false`],
    ["an object", { 0: 3, length: 1 }, `${IDS_RULE}, not an object`],
    ["strings in an array", ["3", "101"], `item 1 ${AGENT_ID}, not a string`],
    ["a string among numbers", [3, "101"], `item 2 ${AGENT_ID}, not a string`],
    ["a fraction in an array", [3, 101.5], `item 2 ${AGENT_ID}`],
    ["zero in an array", [0], `item 1 ${AGENT_ID}`],
    ["a negative id in an array", [3, -1], `item 2 ${AGENT_ID}`],
    ["an id past 2^53 in an array", [2 ** 53], `item 1 ${AGENT_ID}`],
    ["null in an array", [3, null], `item 2 ${AGENT_ID}, not null`],
    ["an array in an array", [[3]], `item 1 ${AGENT_ID}, not an array`],
    ["a full-width comma in the third item", "3,101,102，103", 'item 3 has a full-width comma: write ","'],
    ["an ideographic comma", "3、101", 'item 1 has a full-width comma: write ","'],
    ["a trailing comma and blanks", "3,101, ", "item 3 is empty: end the list without a comma"],
    ["a wrong third item among many", [3, 101, "ZEBRA", "x"], `item 3 ${AGENT_ID}, not a string`],
    ["a zero before a string in an array", [3, 0, "101"], `item 2 ${AGENT_ID}`],
  ])("kefu_ids of add_kf are 参数错误 with %s, and nothing is stored", async (_, kefu_ids, rule) => {
    expect(await send(() => ({ kefu_ids }))).toBe(`kefu_ids: ${rule}`);
  });

  it("kefu_ids of add_kf are required", async () => {
    expect(await send(() => ({ kefu_ids: undefined }))).toBe("kefu_ids: is required");
  });
});

describe("chat_id of add_kf", () => {
  const send = refusedSessions();

  it.each<[string, (chatId: number) => unknown]>([
    ["a string", (chatId) => String(chatId)],
    ["null", () => null],
    ["empty", () => ""],
    ["an array", (chatId) => [chatId]],
    ["a boolean", () => true],
    ["a fraction", (chatId) => chatId + 0.5],
    ["past 2^53", () => 2 ** 53],
    ["past -2^53", () => -(2 ** 53)],
  ])("chat_id of add_kf is 参数错误 when %s, and nothing is stored", async (_, write) => {
    const value = write(1);
    const slip = Math.abs(Number(value)) >= 2 ** 53 ? ", not beyond 9007199254740991" : notA(value, "a number");
    expect(await send((chatId) => ({ chat_id: write(chatId) }))).toBe(`chat_id: must be an integer${slip}`);
  });

  it("chat_id of add_kf is required", async () => {
    expect(await send(() => ({ chat_id: undefined }))).toBe("chat_id: is required");
  });

  it("chat_id of add_kf finds the same session in every spelling of the integer", async () => {
    const chatId = await newSession();
    const body = JSON.stringify(world.addBody(chatId)).replace(`"chat_id":${chatId}`, `"chat_id":${chatId}.0e0`);
    expect(body).toContain(".0e0");
    expect((await world.send("add_kf", body)).status).toBe(200);
  });
});

/** Makes a session, and sends changed bodies of an add_kf for it. Each body must be 参数错误 and write nothing. */
function refusedSessions() {
  let chatId: number;
  const send = refusedBodies("add_kf", async () => {
    const one = await World.create();
    chatId = await one.chatId({ kefu_id: [1] });
    return one;
  });
  return (change: (chatId: number) => Body) => send((one) => one.addBody(chatId, change(chatId)));
}
