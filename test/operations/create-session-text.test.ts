import { describe, expect, it } from "vitest";
import { expectUnwritten, INVALID_PARAMETERS } from "../support/signed-routes.ts";
import { type Body, World } from "../support/world.ts";

type Stored = Awaited<ReturnType<World["stored"]>>;

/** Contract section 8, and the column that stores each text. */
const TEXTS: { field: string; max: number; optional?: true; stored: (all: Stored) => unknown[] }[] = [
  { field: "sbs", max: 64, stored: ({ customers }) => [customers[0]?.external_id] },
  { field: "sbs_mc", max: 30, stored: ({ customers }) => [customers[0]?.name] },
  { field: "content", max: 2000, stored: ({ messages }) => [messages[0]?.content] },
  {
    field: "title",
    max: 120,
    optional: true,
    stored: ({ sessions }) => [sessions[0]?.visitor_title, sessions[0]?.agent_title],
  },
];

const FAMILY = "👨‍👩‍👧";

/** Text of exactly this many code points, made of pieces and filled up with letters. */
function ofLength(count: number, piece: string): string {
  const whole = Math.floor(count / [...piece].length);
  return piece.repeat(whole) + "z".repeat(count - whole * [...piece].length);
}

const PIECES: [string, string][] = [
  ["letters", "a"],
  ["ideographs", "漢"],
  ["emoji of two UTF-16 units", "👍"],
  ["emoji of many code points", FAMILY],
  ["combining marks", "e\u0301"],
  ["right-to-left text", "שלום"],
];

const VERBATIM: [string, string][] = [
  ["one character", "x"],
  ["one emoji", "👍"],
  ["a blank", " "],
  ["blanks around it", "  x\t\n"],
  ["a NUL", "a\0b"],
  ["what SQL would take amiss", "'); DROP TABLE x;--"],
  ["what HTML would take amiss", "<b>&amp;</b>"],
  ["decomposed letters", "e\u0301"],
  ["composed letters", "é"],
  ["a byte order mark inside", "\ufeffx\ufeff"],
  ["a noncharacter", "\uffff"],
  ["controls and overrides", "\u202e\u0007\u2028"],
  ["the word null", "null"],
];

const WRONG: [string, unknown][] = [
  ["null", null],
  ["a boolean", true],
  ["an array", ["x"]],
  ["an object", { toString: "x" }],
  ["empty", ""],
  ["a lone high surrogate", "a\ud800"],
  ["a lone low surrogate", "\udc00b"],
  ["surrogates the wrong way round", "\udc4d\ud83d"],
];

describe.each(TEXTS)("$field of create_gd", ({ field, max, optional, stored }) => {
  const rule = `must be a string of 1 to ${max} characters${field === "sbs" ? ", or an integer of 1 to 64 digits" : ""}`;

  it.each(PIECES)(`may be ${max} characters of %s, stored as sent`, async (_, piece) => {
    await expectStored(ofLength(max, piece));
  });

  it.each(PIECES)(`may not be ${max + 1} characters of %s`, async (_, piece) => {
    await expectRefused(ofLength(max + 1, piece));
  });

  it.each(VERBATIM)("is stored as sent with %s", async (_, text) => expectStored(text));

  it.each(WRONG)("is 参数错误 when %s", async (_, value) => expectRefused(value));

  if (field !== "sbs") it("is 参数错误 when a number", async () => expectRefused(1001));
  if (!optional) it("is 参数错误 when missing", async () => expectRefused(undefined, `${field}: is required`));

  async function expectStored(text: string): Promise<void> {
    const world = await World.create();
    await world.chatId({ [field]: text });
    const all = await world.stored();
    for (const each of stored(all)) expect(each).toBe(text);
  }

  async function expectRefused(value: unknown, detail?: string) {
    const world = await World.create();
    const { status, envelope, headers } = await expectUnwritten(world, () => world.create({ [field]: value } as Body));
    expect({ status, envelope }).toEqual({ status: 400, envelope: INVALID_PARAMETERS });
    expect(headers.get("x-error-detail")).toBe(
      detail ?? `${field}: ${rule}${optional && (value === null || value === "") ? ", or left out" : ""}`,
    );
  }
});
