import { describe, expect, it } from "vitest";
import { autoTitle } from "../../src/operations/auto-title.ts";

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

  it("keeps one character whole that is as long as a message may be", () => {
    const tall = `e${"\u{1d165}".repeat(1_999)}`;
    expect(autoTitle(tall)).toBe(tall);
  });

  it("looks past many blanks between words", () => {
    expect(autoTitle(`late${" ".repeat(1_000)}order. Where?`)).toBe("late order.");
  });
});
