import { describe, expect, it } from "vitest";
import { RULES } from "../../../src/core/rules.ts";
import { meaningOf, VIOLATION_EXAMPLES } from "../../../src/tools/docs/error-details.ts";
import { textsOf } from "../../../src/tools/docs/texts.ts";
import { CHINESE } from "./site.ts";

const ALL = VIOLATION_EXAMPLES.flatMap(({ violations }) => violations);

describe("the glossary of x-error-detail", () => {
  it("the glossary of x-error-detail has an example of each rule that callers can break", () => {
    const exampleRules = new Set<string>(ALL.map(({ rule }) => rule));
    // Two rules are about an operator's home ("The home apac is closed."), and no caller sees them.
    expect(Object.keys(RULES).filter((rule) => !exampleRules.has(rule))).toEqual(["home_open", "home_bound"]);
  });

  it.each(["en", "zh"] as const)("the glossary of x-error-detail says in %s what each text means", (language) => {
    const texts = textsOf(language, CHINESE);
    for (const violation of ALL) {
      const meaning = meaningOf(texts, violation);
      expect([violation, meaning]).not.toEqual([violation, expect.stringMatching(/\{\d\}|^$/)]);
      if (language === "zh") expect(meaning).toMatch(/\p{Script=Han}/u);
    }
    expect([...texts.missingTexts]).toEqual([]);
  });
});
