import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { World } from "../../support/world.ts";
import { refusedBodies } from "./refused-bodies.ts";

const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, `${i}`]));

async function storedBy({ siteId }: World, chatId: number): Promise<unknown> {
  return env.DB.prepare("SELECT metadata FROM sessions WHERE site_id = ? AND id = ?")
    .bind(siteId, chatId)
    .first("metadata");
}

const RULE =
  "must be an object of up to 20 strings of up to 500 characters, under names of 1 to 40 characters of A-Za-z0-9_.-";
const NAME = "must be a name of 1 to 40 characters of A-Za-z0-9_.-";
const VALUE = "must have a string of up to 500 characters";

describe("metadata of create_gd, an extension of this service", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.create();
  });
  const send = refusedBodies("create_gd");

  it.each<[string, unknown]>([
    ["one pair", { order: "20260617-0042" }],
    ["none", {}],
    ["20 pairs", pairs(20)],
    ["a name of 40 characters", { ["A-z_0.".padEnd(40, "x")]: "v" }],
    ["an empty value, and one of 500 characters", { a: "", b: "😀".repeat(500) }],
    ["names that objects have by themselves", JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}')],
    ["control characters and quotes in a value", { a: "\u0000\n\"'" }],
  ])("metadata of create_gd is stored as it was sent: %s", async (_, metadata) => {
    const chatId = await world.chatId({ metadata });
    expect(JSON.parse(String(await storedBy(world, chatId)))).toEqual(metadata);
    const answer = await world.admin("GET", `/admin/sites/${world.siteId}/sessions/${chatId}`);
    const { metadata: read } = await answer.json<{ metadata: unknown }>();
    expect(JSON.stringify(sorted(read))).toBe(JSON.stringify(sorted(metadata)));
  });

  it("metadata is {} for a session that was opened without it", async () => {
    const chatId = await world.chatId();
    expect(await storedBy(world, chatId)).toBeNull();
    const answer = await world.admin("GET", `/admin/sites/${world.siteId}/sessions/${chatId}`);
    expect(await answer.json()).toMatchObject({ metadata: {} });
  });

  it.each<[string, unknown, string]>([
    ["null", null, `${RULE}, or left out`],
    ["a string", "a", `${RULE}, not a string`],
    ["an array", [{ a: "b" }], `${RULE}, not an array`],
    ["a number in place of it", 1, `${RULE}, not a number`],
    ["21 pairs", pairs(21), "must have at most 20 keys"],
    ["an empty name", { "": "v" }, `key 1 ${NAME}`],
    ["a name of 41 characters", { ["x".repeat(41)]: "v" }, `key 1 ${NAME}`],
    ["a name with a blank, the second", { a: "v", "a b": "v", "c d": "v" }, `key 2 ${NAME}`],
    ["a Chinese name", { 订单: "v" }, `key 1 ${NAME}`],
    ["a number", { a: 1 }, `key 1 ${VALUE}, not a number`],
    ["a nested object, the third", { a: "v", b: "v", c: { d: "e" } }, `key 3 ${VALUE}, not an object`],
    ["a value of 501 characters", { a: "x".repeat(501) }, `key 1 ${VALUE}`],
    ["a lone surrogate", { a: "\ud800" }, "key 1 is not well-formed Unicode: half of a surrogate pair stands alone"],
    [
      "a number where names are numbers, whose order JSON.parse does not keep",
      { a: "v", 7: 1 },
      `one key ${VALUE}, not a number`,
    ],
  ])("metadata is 参数错误 and writes nothing: %s", async (_, metadata, rule) => {
    expect(await send((of) => of.createBody({ metadata }))).toBe(`metadata: ${rule}`);
  });

  it("an Idempotency-Key compares metadata, whatever the order of its pairs", async () => {
    const ownWorld = await World.create();
    const create = (metadata: unknown) => ownWorld.create({ metadata }, { "idempotency-key": "k" });
    const first = await create({ a: "1", b: "2" });
    const secondAnswer = await create({ b: "2", a: "1" });
    expect([secondAnswer.headers.get("idempotency-replayed"), secondAnswer.envelope]).toEqual(["true", first.envelope]);
    for (const other of [{ a: "1", b: "3" }, undefined, {}]) expect((await create(other)).status).toBe(422);
    expect((await ownWorld.stored()).sessions).toHaveLength(1);
  });
});

const sorted = (object: unknown) => Object.entries(object as object).sort(([a], [b]) => (a < b ? -1 : 1));
