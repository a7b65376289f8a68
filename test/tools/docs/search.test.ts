import { describe, expect, it } from "vitest";
import { describeViolations } from "../../../src/core/describe-violations.ts";
import { WIRE_ERRORS } from "../../../src/core/errors.ts";
import { searchIndex, wordsOf } from "../../../src/tools/docs/browser/search-index.ts";
import { VIOLATION_EXAMPLES } from "../../../src/tools/docs/error-details.ts";
import { site } from "./site.ts";

const INDEX = { en: searchIndex(site("en").records), zh: searchIndex(site("zh").records) };
const FOLDER = { en: "/docs/", zh: "/docs/zh/" };

const first = (language: "en" | "zh", words: string) => INDEX[language].search(words)[0];

describe.each(["en", "zh"] as const)("the search in %s", (language) => {
  it("the search finds the refusal of each message, also when the whole answer is pasted", () => {
    for (const { message } of Object.values(WIRE_ERRORS)) {
      for (const words of [message, JSON.stringify({ code: -1, msg: message, data: "" })]) {
        const result = first(language, words);
        expect(result?.url).toMatch(new RegExp(`^${FOLDER[language]}errors/#`));
        expect(result?.title).toContain(message);
      }
    }
  });

  it("the search finds the cause of each message of standardwebhooks", () => {
    const { records } = site(language);
    const section = records.find(({ url }) => url.endsWith("/receiving/#what-standardwebhooks-says"));
    for (const message of [
      "No matching signature found",
      "Message timestamp too new",
      "Base64Coder: incorrect padding",
    ]) {
      expect(section?.text).toContain(message);
      const found = INDEX[language].search(message).slice(0, 3);
      expect(found.map(({ url }) => url)).toContain(section?.url);
    }
  });

  it("the search finds the meaning of each x-error-detail, also with other ids and numbers", () => {
    const details = VIOLATION_EXAMPLES.flatMap(({ violations }) =>
      violations.map((violation) => describeViolations([violation])),
    );
    for (const detail of details) expect(first(language, detail)).toMatchObject({ title: detail });
    expect(first(language, "kefu_id: 90001 unknown, 90002 disabled")?.title).toBe(
      "kefu_id: 777 unknown, 10430 disabled",
    );
    expect(first(language, "timestamp: must be within 120 s of 1799999999, Unix seconds")?.title).toMatch(
      /^timestamp: must be within/,
    );
    expect(
      first(language, "kefu_id: item 7 must be an integer from 1 to 9007199254740991, not a string")?.title,
    ).toMatch(/^kefu_id: item 2/);
  });
});

it.each([
  ["en", "retry", "/docs/integrating/#retry"],
  ["en", "clock", "/docs/integrating/#clock"],
  ["en", "create_gd", "/docs/reference/create_gd/"],
  ["en", "wrong signature", "/docs/errors/#token_invalid"],
  ["en", "newline", "/docs/errors/#token_invalid"],
  ["en", "milliseconds", "/docs/errors/#timestamp-must-be-within-300-s-of-1795319350-unix-seconds-not-milliseconds"],
  ["en", "idempotent", "/docs/integrating/#retry"],
  ["en", "signatrue", "/docs/integrating/#check-a-signature"],
  ["en", "java", "/docs/integrating/#programs-in-six-languages"],
  ["zh", "python", "/docs/zh/integrating/#programs-in-six-languages"],
  ["zh", "幂等", "/docs/zh/retrying/"],
  ["zh", "验签", "/docs/zh/receiving/#verify"],
  ["zh", "回调", "/docs/zh/receiving/"],
  ["zh", "乱码", "/docs/zh/integrating/#sign"],
  ["zh", "重", "/docs/zh/integrating/#retry"],
  ["zh", "签名", "/docs/zh/integrating/#sign"],
  ["zh", "重试", "/docs/zh/integrating/#retry"],
  ["zh", "时钟", "/docs/zh/integrating/#clock"],
  ["en", "drill a lost answer", "/docs/integrating/#drill-a-bad-day"],
  ["zh", "演练接收方", "/docs/zh/receiving/#drill-the-receiver"],
] as const)("the search in %s leads from %j to %s", (language, words, url) => {
  expect(
    INDEX[language]
      .search(words)
      .slice(0, 3)
      .map((result) => result.url),
  ).toContain(url);
});

describe("the words of a text", () => {
  it("the words of a text are runs of letters and digits, parts of names with an underscore, and Chinese in pairs", () => {
    expect(wordsOf("kefu_id: 777")).toEqual(["kefu_id", "kefu", "id", "777"]);
    expect(wordsOf("token验证失败!")).toEqual(["token", "验证", "证失", "失败"]);
    expect(wordsOf("x-error-detail 错")).toEqual(["x", "error", "detail", "错"]);
    expect(wordsOf("__ !")).toEqual(["__"]);
  });
});
