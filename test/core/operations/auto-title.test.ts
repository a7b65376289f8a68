import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isVisible } from "../../../src/core/fields.ts";
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
  ])("an automatic title is the first sentence, on one line: %j", (content, title) => {
    expect(autoTitle(content)).toBe(title);
  });

  it.each([
    ["letters", "a"],
    ["ideographs", "漢"],
    ["emoji", "👍🏽"],
    ["flags", FLAG],
    ["letters with an accent", "e\u0301"],
  ])("an automatic title keeps 40 %s whole and cuts 41 after the 39th", (_, character) => {
    expect(autoTitle(character.repeat(40))).toBe(character.repeat(40));
    expect(autoTitle(character.repeat(41))).toBe(`${character.repeat(39)}…`);
  });

  it("an automatic title has no blank before the ellipsis", () => {
    expect(autoTitle(`${"a".repeat(38)} ${"b".repeat(20)}`)).toBe(`${"a".repeat(38)}…`);
  });

  it.each([
    // A family has 7 code points, and the ellipsis one.
    ["families", FAMILY, 17],
    ["letters with fifty accents", `e${"\u0301".repeat(50)}`, 2],
    ["a letter as long as a message may be", `e${"\u{1d165}".repeat(1_999)}`, 0],
    ["letters of 121 code points", `e${"\u0301".repeat(120)}`, 0],
  ])(
    "an automatic title has at most 120 code points, and no part of a character that does not fit: %s",
    (_, character, count) => {
      const title = autoTitle(character.repeat(40));
      expect(title).toBe(count === 0 ? "" : `${character.repeat(count)}…`);
      expect([...title].length).toBeLessThanOrEqual(120);
    },
  );

  it("an automatic title may be a whole message of 120 code points", () => {
    const longest = `e${"\u0301".repeat(119)}`;
    expect(autoTitle(longest)).toBe(longest);
    expect(autoTitle(`${FAMILY.repeat(17)}a`)).toBe(`${FAMILY.repeat(17)}a`);
    expect(autoTitle(`${FAMILY.repeat(17)}ab`)).toBe(`${FAMILY.repeat(17)}…`);
  });

  it.each([
    ["a zero-width space", "\u200b"],
    ["joiners and marks of direction", "\u200d\u200e\u061c\u2066"],
    ["Hangul fillers", "\u3164\uffa0\u115f\u1160"],
    ["empty braille", "\u2800"],
    ["soft hyphens and a byte order mark inside", "\u00ad\ufeff\u00ad"],
    ["variation selectors and tags", "\ufe0f\u{e0041}\u{e0100}"],
    ["annotation signs and controls", "\ufff9\0\u0007"],
    ["many, and what is seen after the cut", `${"\u200b\u2800".repeat(60)}seen`],
  ])("an automatic title without a visible character is empty: %s", (_, content) => {
    expect(autoTitle(content)).toBe("");
  });

  it("an automatic title is cut as Intl.Segmenter cuts, even without a call of Intl.Segmenter", () => {
    const sentences = new Intl.Segmenter("en", { granularity: "sentence" });
    const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
    const bySegmenter = (content: string) => {
      const sentence = sentences.segment(content.trimStart()).containing(0)?.segment ?? "";
      const line = sentence.replace(/\s+/g, " ").trim();
      if (!isVisible(line)) return "";
      const all = Array.from(graphemes.segment(line), ({ segment }) => segment);
      if (all.length <= 40 && [...line].length <= 120) return line;
      const fitting = all.slice(0, 39).filter((_, i) => [...all.slice(0, i + 1).join("")].length <= 119);
      return isVisible(fitting.join("")) ? `${fitting.join("").trimEnd()}…` : "";
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
      "\u200b",
      `e${"\u0301".repeat(60)}`,
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

  it("an automatic title skips many blanks between words", () => {
    expect(autoTitle(`late${" ".repeat(1_000)}order. Where?`)).toBe("late order.");
  });
});
