import { describe, expect, it } from "vitest";
import { hasUnseen, showUnseen, withoutUnseen } from "../../../../src/operators/console/parts/unseen.tsx";
import { start } from "../../../support/console-visitor.ts";
import { findCustomerPage, SBS } from "../customers/customers-world.ts";
import { linksTo, newSession, searched } from "./search-world.ts";

const WITHOUT = "Search without them";
const GONE = "no customer has exactly this id";

describe("invisible characters", () => {
  it.each([
    ["zero\u200bwidth\u200c\u200d\u2060", "zero[U+200B]width[U+200C][U+200D][U+2060]", "zerowidth"],
    ["\ufeffmark", "[U+FEFF]mark", "mark"],
    ["\u202eover\u2066\u2069\u200f", "[U+202E]over[U+2066][U+2069][U+200F]", "over"],
    ["soft\u00adhyphen", "soft[U+00AD]hyphen", "softhyphen"],
    ["\u00a0no\u00a0break\u3000", "[U+00A0]no[U+00A0]break[U+3000]", "no break"],
    ["a\tb\r\nc\u2028d\u0000\u007f", "a[U+0009]b[U+000D][U+000A]c[U+2028]d[U+0000][U+007F]", "a b  c d"],
    ["  two words ", "␣␣two words␣", "two words"],
    ["\u3164\u2800\u{e0020}tag", "[U+3164][U+2800][U+E0020]tag", "tag"],
    ["\u200b", "[U+200B]", ""],
  ])("invisible characters are shown by their codes and can be removed: %j", (text, shownText, cleanText) => {
    expect([showUnseen(text), withoutUnseen(text), hasUnseen(cleanText)]).toEqual([shownText, cleanText, false]);
  });

  it.each(["王伟", "a b", "e\u0301", "<b>", "🙂", "قال مرحبا"])("this text has no invisible characters: %j", (text) => {
    expect([hasUnseen(text), withoutUnseen(text)]).toEqual([false, text]);
  });
});

describe("a search with invisible characters", () => {
  it("a search with invisible characters shows them when it finds nothing, and a button searches without them", async () => {
    const { world, visitor, site } = await start("main");
    await newSession(world, 11, { customerExternalId: "customer_001" });
    const page = await searched(visitor, "customer_\u200b001\u00ad", world.siteId);
    expect(page.text).toContain("Nothing was found for customer_[U+200B]001[U+00AD]");
    const clean = await visitor.press(page, WITHOUT);
    expect(linksTo(clean, `${site}/sessions/`)).toEqual([`${site}/sessions/11`]);
    const chinese = await visitor.press(page, "中文");
    expect(linksTo(await visitor.press(chinese, "去掉这些字符再搜索"), `${site}/sessions/`)).toHaveLength(1);
  });

  it("a search with invisible characters first finds exact matches, and is not repeated with an empty text", async () => {
    const { world, visitor, site } = await start("main");
    await newSession(world, 11, { customerExternalId: "mei" });
    await newSession(world, 12, { customerExternalId: "mei\u200b" });
    const page = await searched(visitor, "mei\u200b", world.siteId);
    expect([linksTo(page, `${site}/sessions/`), page.has(WITHOUT)]).toEqual([[`${site}/sessions/12`], false]);
    expect(page.text).toContain("Customer id (sbs): mei[U+200B]");
    const nothing = await searched(visitor, "\u200b", world.siteId);
    expect([nothing.text.includes("Nothing was found for [U+200B]"), nothing.has(WITHOUT)]).toEqual([true, false]);
  });

  it("a search for a customer or an erasure with invisible characters offers the search without them", async () => {
    const { world, visitor, site } = await start();
    const path = `${site}/customers`;
    const chatId = await world.chatId({ sbs: "mei" });
    const page = await findCustomerPage(visitor, path, "\u202amei\u202c ");
    const erasure = await visitor.press(page, "Look for an erasure");
    for (const each of [page, erasure]) {
      expect([each.status, each.text.includes(GONE)]).toEqual([404, false]);
      expect(each.text).toContain("It has characters that nobody sees: [U+202A]mei[U+202C]␣");
      expect(each.value(SBS)).toBe("\u202amei\u202c ");
      expect((await visitor.press(each, WITHOUT)).path).toBe(`${path}?chat_id=${chatId}`);
    }
    const gonePage = await visitor.press(await findCustomerPage(visitor, path, "nobody\u200b"), WITHOUT);
    expect([gonePage.status, gonePage.text.includes(GONE), gonePage.has(WITHOUT)]).toEqual([404, true, false]);
  });

  it("a list filter with invisible characters shows them and links to the list without them", async () => {
    const { world, visitor, site } = await start();
    const chatId = await world.chatId({ sbs: "mei", kefu_id: [1], fzr_uid: 1 });
    const cases = [
      ["sessions?status=waiting&sbs=mei%E2%80%8B", "mei[U+200B]", "sessions?sbs=mei&status=waiting"],
      ["sessions?agent=1%E2%80%8B", "1[U+200B]", "sessions?agent=1"],
      [`sessions?app=${world.appid}%C2%AD`, "[U+00AD]", `sessions?app=${world.appid}`],
      [`sessions?chat_id=${chatId}%E2%81%A0`, "[U+2060]", `sessions?chat_id=${chatId}`],
      ["agents?q=Agent%E2%80%8B+1&status=normal", "Agent[U+200B] 1", "agents?q=Agent+1&status=normal"],
      [`refusals?appid=%E2%80%8E${world.appid}`, "[U+200E]", `refusals?appid=${world.appid}`],
      ["audit?who=root%E2%80%8B&subject=x", "root[U+200B]", "audit?who=root&subject=x"],
    ] as const;
    for (const [query, shownText, clean] of cases) {
      const page = await visitor.open(`${site}/${query}`);
      expect([query, page.text.includes(shownText), page.link(WITHOUT)]).toEqual([query, true, `${site}/${clean}`]);
      if (/sbs|agent=|app=/.test(query)) expect(page.rows).toEqual([]);
      expect((await visitor.open(page.link(WITHOUT))).text).not.toContain("characters that nobody sees");
    }
    const none = await visitor.open(`${site}/sessions?sbs=mei%E2%80%8B`);
    expect([none.text.includes("to the letter: mei[U+200B]"), none.text.includes("are gone")]).toEqual([true, false]);
  });
});
