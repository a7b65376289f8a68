import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { World } from "../support/world.ts";

const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, `${i}`]));

async function storedBy({ siteId }: World, chatId: number): Promise<unknown> {
  return env.DB.prepare("SELECT metadata FROM sessions WHERE site_id = ? AND id = ?")
    .bind(siteId, chatId)
    .first("metadata");
}

describe("metadata of create_gd, an extension of this service", () => {
  it.each<[string, unknown]>([
    ["one pair", { order: "20260617-0042" }],
    ["none", {}],
    ["20 pairs", pairs(20)],
    ["a name of 40 characters", { ["A-z_0.".padEnd(40, "x")]: "v" }],
    ["an empty value, and one of 500 characters", { a: "", b: "😀".repeat(500) }],
    ["names that objects have by themselves", JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}')],
    ["control characters and quotes in a value", { a: "\u0000\n\"'" }],
  ])("is stored as it was sent: %s", async (_, metadata) => {
    const world = await World.create();
    const chatId = await world.chatId({ metadata });
    expect(JSON.parse(String(await storedBy(world, chatId)))).toEqual(metadata);
    const answer = await world.admin("GET", `/admin/sites/${world.siteId}/sessions/${chatId}`);
    const { metadata: read } = await answer.json<{ metadata: unknown }>();
    expect(JSON.stringify(sorted(read))).toBe(JSON.stringify(sorted(metadata)));
  });

  it("is {} of a session that was opened without", async () => {
    const world = await World.create();
    const chatId = await world.chatId();
    expect(await storedBy(world, chatId)).toBeNull();
    const answer = await world.admin("GET", `/admin/sites/${world.siteId}/sessions/${chatId}`);
    expect(await answer.json()).toMatchObject({ metadata: {} });
  });

  it.each<[string, unknown]>([
    ["null", null],
    ["a string", "a"],
    ["an array", [{ a: "b" }]],
    ["21 pairs", pairs(21)],
    ["an empty name", { "": "v" }],
    ["a name of 41 characters", { ["x".repeat(41)]: "v" }],
    ["a name with a blank", { "a b": "v" }],
    ["a Chinese name", { 订单: "v" }],
    ["a number", { a: 1 }],
    ["a nested object", { a: { b: "c" } }],
    ["a value of 501 characters", { a: "x".repeat(501) }],
    ["a lone surrogate", { a: "\ud800" }],
  ])("is 参数错误 and writes nothing: %s", async (_, metadata) => {
    const world = await World.create();
    const before = await world.stored();
    const { status, envelope, headers } = await world.create({ metadata });
    expect([status, envelope]).toEqual([400, { code: -1, msg: "参数错误", data: "" }]);
    expect(headers.get("x-error-detail")).toMatch(/^metadata: must be an object of up to 20 strings/);
    expect(await world.stored()).toEqual(before);
  });

  it("belongs to what an Idempotency-Key is compared by, whatever the order of its pairs", async () => {
    const world = await World.create();
    const send = (metadata: unknown, key: string) => world.create({ metadata }, { "idempotency-key": key });
    const first = await send({ a: "1", b: "2" }, "k");
    const again = await send({ b: "2", a: "1" }, "k");
    expect([again.headers.get("idempotency-replayed"), again.envelope]).toEqual(["true", first.envelope]);
    expect((await send({ a: "1", b: "3" }, "k")).status).toBe(422);
    expect((await send(undefined, "k")).status).toBe(422);
    expect((await send({}, "k")).status).toBe(422);
    expect((await world.stored()).sessions).toHaveLength(1);
  });
});

const sorted = (object: unknown) => Object.entries(object as object).sort(([a], [b]) => (a < b ? -1 : 1));
