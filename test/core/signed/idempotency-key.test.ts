import { describe, expect, it } from "vitest";
import { IDEMPOTENCY_SECONDS, readIdempotencyKey } from "../../../src/core/signed/idempotency-key.ts";
import { expectUnwritten, INVALID_PARAMETERS } from "../../support/signed-routes.ts";
import { World } from "../../support/world.ts";

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
  ["a space before", " a"],
  ["a newline after", "a\n"],
];

describe("readIdempotencyKey", () => {
  it.each(GOOD)("an Idempotency-Key is accepted as it is: %s", (_, key) =>
    expect(readIdempotencyKey(key)).toEqual({ ok: true, value: key }),
  );

  it.each(BAD)("an Idempotency-Key is refused: %s", (_, key) => {
    const slip = key === "a, b" ? { sentAs: "joined" } : {};
    const violations = [{ field: "Idempotency-Key", rule: "visible_ascii", values: [1, 255], ...slip }];
    const reason = "idempotency_key_malformed";
    expect(readIdempotencyKey(key)).toEqual({ ok: false, code: "invalid_parameters", reason, violations });
  });

  it("a missing Idempotency-Key is read as null, and keys are remembered for 24 hours", () => {
    expect(readIdempotencyKey(undefined)).toEqual({ ok: true, value: null });
    expect(IDEMPOTENCY_SECONDS).toBe(24 * 60 * 60);
  });
});

it.each(["create_gd", "add_kf"] as const)(
  "the Idempotency-Key on %s is stored as it is, or refused before the ranstr is used",
  async (operation) => {
    const world = await World.create();
    const chatId = await world.chatId();
    const send = (key: string) =>
      world.send(operation, operation === "create_gd" ? world.createBody() : world.addBody(chatId), {
        "idempotency-key": key,
      });
    await expectUnwritten(world, async () => {
      const { status, envelope, headers } = await send("a b");
      expect({ status, envelope }).toEqual({ status: 400, envelope: INVALID_PARAMETERS });
      expect(headers.get("x-error-detail")).toMatch(/^Idempotency-Key: /);
    });
    expect((await send(everyVisible)).status).toBe(200);
    expect((await world.stored()).keys.map(({ key }) => key)).toEqual([everyVisible]);
  },
);
