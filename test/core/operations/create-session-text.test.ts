import { beforeAll, describe, expect, it } from "vitest";
import { World } from "../../support/world.ts";
import { notA } from "../../support/wrong-type-text.ts";
import { refusedBodies } from "./refused-bodies.ts";

type Stored = Awaited<ReturnType<World["stored"]>>;
type Row = Record<string, unknown> | undefined;

const customerOf = (all: Stored, session: Row): Row =>
  all.customers.find(({ external_id }) => external_id === session?.customer_external_id);

/** The text fields with their limits (contract section 8), and where each text is stored. */
const TEXTS: { field: string; max: number; optional?: true; stored: (all: Stored, session: Row) => unknown }[] = [
  { field: "sbs", max: 64, stored: (all, session) => customerOf(all, session)?.external_id },
  { field: "sbs_mc", max: 30, stored: (all, session) => customerOf(all, session)?.name },
  {
    field: "content",
    max: 2000,
    stored: ({ messages }, session) => messages.find(({ session_id }) => session_id === session?.id)?.content,
  },
  { field: "title", max: 120, optional: true, stored: (_, session) => session?.visitor_title },
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

describe("the texts of create_gd", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.create();
  });

  it.each(PIECES)(
    "the texts of create_gd may be as long as the contract allows in %s, and are stored as sent",
    async (_, piece) => {
      await expectStored(({ max }) => ofLength(max, piece));
    },
  );

  it.each(VERBATIM)("the texts of create_gd are stored as sent with %s", async (_, text) => expectStored(() => text));

  /** One session has every text; all sessions are of one site. */
  async function expectStored(textOf: (of: (typeof TEXTS)[number]) => string): Promise<void> {
    const chatId = await world.chatId(Object.fromEntries(TEXTS.map((text) => [text.field, textOf(text)])));
    const all = await world.stored();
    const session = all.sessions.find(({ id }) => id === chatId);
    for (const text of TEXTS) expect([text.field, text.stored(all, session)]).toEqual([text.field, textOf(text)]);
    expect(session?.agent_title).toBe(session?.visitor_title);
  }
});

describe.each(TEXTS)("$field of create_gd", ({ field, max, optional }) => {
  const rule = `must be a string of 1 to ${max} characters${field === "sbs" ? ", or an integer of 1 to 64 digits" : ""}`;
  const send = refusedBodies("create_gd");
  const detailOf = (value: unknown) => send((world) => world.createBody({ [field]: value }));

  it.each(PIECES)(`${field} of create_gd may not have ${max + 1} characters of %s`, async (_, piece) => {
    expect(await detailOf(ofLength(max + 1, piece))).toBe(`${field}: ${rule}`);
  });

  it.each(WRONG)(`${field} of create_gd is 参数错误 when it is %s`, async (_, value) => {
    if (typeof value === "string" && value !== "") {
      const broken = "is not well-formed Unicode: half of a surrogate pair stands alone";
      return expect(await detailOf(value)).toBe(`${field}: ${broken}`);
    }
    const isLeftOut = optional && (value === null || value === "");
    expect(await detailOf(value)).toBe(`${field}: ${rule}${isLeftOut ? ", or left out" : notA(value, "a string")}`);
  });

  if (field !== "sbs") {
    it(`${field} of create_gd is 参数错误 when it is a number`, async () =>
      expect(await detailOf(1001)).toBe(`${field}: ${rule}, not a number`));
  }
  if (!optional) {
    it(`${field} of create_gd is 参数错误 when it is missing`, async () =>
      expect(await detailOf(undefined)).toBe(`${field}: is required`));
  }
});
