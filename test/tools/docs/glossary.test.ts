import { describe, expect, it } from "vitest";
import { detailPatterns } from "../../../src/operators/console/details.ts";
import { DETAIL_EXAMPLES, meaningOf } from "../../../src/tools/docs/details.ts";
import { textsOf } from "../../../src/tools/docs/texts.ts";
import { CHINESE } from "./site.ts";

const ALL = DETAIL_EXAMPLES.flatMap(({ details }) => details);

describe("the glossary of x-error-detail", () => {
  it("has an example of every rule that the service gives", () => {
    // What a rule says of an operator's home is no caller's: "The home apac is closed."
    const isForCallers = (pattern: RegExp) => !pattern.source.includes("home");
    const rest = ALL.flatMap((detail) => [
      detail,
      detail.replace(/^[\w-]+: (?:(?:item|key) \d+ |one key )?/, ""),
    ]).flatMap((rule) => [rule, rule.replace(/(?:, not a string)?(?:, or left out)?$/, "")]);
    const lacking = detailPatterns().filter(
      (pattern) => isForCallers(pattern) && !rest.some((rule) => pattern.test(rule)),
    );
    expect(lacking.map(String)).toEqual([]);
  });

  it.each(["en", "zh"] as const)("says in %s what each means, in words", (language) => {
    const texts = textsOf(language, CHINESE);
    for (const detail of ALL) {
      const meaning = meaningOf(texts, detail);
      expect([detail, meaning]).not.toEqual([detail, expect.stringMatching(/^“|^$/)]);
      if (language === "zh") expect(meaning).toMatch(/\p{Script=Han}/u);
    }
    expect([...texts.missing]).toEqual([]);
  });
});
