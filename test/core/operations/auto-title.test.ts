import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { autoTitle } from "../../../src/core/operations/auto-title.ts";

const FAMILY = "👨‍👩‍👧‍👦";
const FLAG = "🇩🇪";

describe("autoTitle", () => {
  it.each([
    ["Initial message", "Initial message"],
    ["My order is late. Where is it?", "My order is late."],
    ["Where is it? I paid 3.5 dollars.", "Where is it?"],
    ["It costs 3.5 dollars. Too much!", "It costs 3.5 dollars."],
    ["Help! Now.", "Help!"],
    ["我的订单迟到了。它在哪里？", "我的订单迟到了。"],
    ["它在哪里？我付了钱！", "它在哪里？"],
    ["注文が届きません。確認してください。", "注文が届きません。"],
    ["First line\nsecond line", "First line"],
    ["  \n\t spaced   out\u3000words  ", "spaced out words"],
    ["", ""],
    [" \n\t\u3000 ", ""],
    ["x", "x"],
    [`${FAMILY}${FLAG}e\u0301`, `${FAMILY}${FLAG}e\u0301`],
  ])("takes the first sentence, on one line: %j", (content, title) => {
    expect(autoTitle(content)).toBe(title);
  });

  it.each([
    ["letters", "a"],
    ["ideographs", "漢"],
    ["emoji", "👍🏽"],
    ["families", FAMILY],
    ["flags", FLAG],
    ["letters with an accent", "e\u0301"],
    ["letters with fifty accents", `e${"\u0301".repeat(50)}`],
  ])("keeps 40 %s whole and cuts 41 after the 39th", (_, character) => {
    expect(autoTitle(character.repeat(40))).toBe(character.repeat(40));
    expect(autoTitle(character.repeat(41))).toBe(`${character.repeat(39)}…`);
  });

  it("leaves no blank before the ellipsis", () => {
    expect(autoTitle(`${"a".repeat(38)} ${"b".repeat(20)}`)).toBe(`${"a".repeat(38)}…`);
  });

  it("keeps a single character whole, even one as long as a message may be", () => {
    const tall = `e${"\u{1d165}".repeat(1_999)}`;
    expect(autoTitle(tall)).toBe(tall);
  });

  it("cuts as Intl.Segmenter does, also where it does not call it", () => {
    const sentences = new Intl.Segmenter("en", { granularity: "sentence" });
    const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
    const bySegmenter = (content: string) => {
      const sentence = sentences.segment(content.trimStart()).containing(0)?.segment ?? "";
      const line = sentence.replace(/\s+/g, " ").trim();
      const all = Array.from(graphemes.segment(line), ({ segment }) => segment);
      return all.length <= 40 ? line : `${all.slice(0, 39).join("").trimEnd()}…`;
    };
    const part = fc.constantFrom(
      "a",
      "B",
      "word ",
      "3",
      "漢",
      "ا",
      "👍🏽",
      FAMILY,
      "\u0301",
      "\u00ad",
      ".",
      "!",
      "?",
      "。",
      "？",
      "！",
      "_",
      "…",
      "؟",
      "।",
      "\u2024",
      "．",
      ",",
      ";",
      ":",
      " ",
      "  ",
      "\t",
      "\v",
      "\n",
      "\r\n",
      "\u0085",
      "\u2028",
      "\u3000",
      "\ufeff",
      ")",
      "”",
      "'",
      "-",
    );
    const content = fc.array(part, { maxLength: 60 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(content, (text) => {
        expect(autoTitle(text)).toBe(bySegmenter(text));
      }),
      { numRuns: 4_000 },
    );
  });

  it("skips many blanks between words", () => {
    expect(autoTitle(`late${" ".repeat(1_000)}order. Where?`)).toBe("late order.");
  });
});
