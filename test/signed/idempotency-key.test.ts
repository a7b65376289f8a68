import { describe, expect, it } from "vitest";
import { IDEMPOTENCY_SECONDS, readIdempotencyKey } from "../../src/signed/idempotency-key.ts";
import { World } from "../support/world.ts";

const everyVisible = Array.from({ length: 94 }, (_, i) => String.fromCharCode(0x21 + i)).join("");

const GOOD: [string, string][] = [
  ["1 character", "k"],
  ["255 characters", "k".repeat(255)],
  ["every visible ASCII character", everyVisible],
];

const BAD: [string, string][] = [
  ["empty", ""],
  ["256 characters", "k".repeat(256)],
  ["a space inside", "a b"],
  ["a tab inside", "a\tb"],
  ["two headers in one", "a, b"],
  ["Latin-1", "clé"],
  ["Chinese", "键"],
  ["an emoji", "🔑"],
  ["a control character", "a\u007fb"],
];

describe("readIdempotencyKey", () => {
  it.each(GOOD)("accepts as it is: %s", (_, key) => expect(readIdempotencyKey(key)).toEqual({ ok: true, value: key }));

  it.each([...BAD, ["a space before", " a"], ["a newline after", "a\n"]])("refuses: %s", (_, key) => {
    expect(readIdempotencyKey(key)).toMatchObject({ ok: false, code: "invalid_parameters" });
  });

  it("returns null without a header, and keys are remembered for 24 hours", () => {
    expect(readIdempotencyKey(undefined)).toEqual({ ok: true, value: null });
    expect(IDEMPOTENCY_SECONDS).toBe(24 * 60 * 60);
  });
});

describe.each(["create_gd", "add_kf"] as const)("the header on %s", (operation) => {
  const send = async (world: World, key: string) => {
    const body = operation === "create_gd" ? world.createBody() : world.addBody(await world.chatId());
    return world.send(operation, body, { "idempotency-key": key });
  };

  it.each(GOOD)("is accepted and stored as it is: %s", async (_, key) => {
    const world = await World.create();
    expect((await send(world, key)).status).toBe(200);
    expect((await world.stored()).keys.map((row) => row.key)).toEqual([key]);
  });

  it.each(BAD)("is 参数错误 and uses up no ranstr: %s", async (_, key) => {
    const world = await World.create();
    const before = operation === "create_gd" ? 0 : 1;
    const { status, envelope, headers } = await send(world, key);
    expect(status).toBe(400);
    expect(envelope).toEqual({ code: -1, msg: "参数错误", data: "" });
    expect(headers.get("x-error-detail")).toMatch(/^Idempotency-Key: /);
    const { nonces, sessions, keys } = await world.stored();
    expect([nonces.length, sessions.length, keys.length]).toEqual([before, before, 0]);
  });
});
