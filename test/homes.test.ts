import { describe, expect, it } from "vitest";
import { bindingOfHome, HOME_NAME, homeOfBinding, isMisnamed, namesIn } from "../src/homes.ts";

describe("a home's binding", () => {
  it.each([
    ["main", "DB"],
    ["apac", "HOME_APAC"],
    ["eu-west-2", "HOME_EU_WEST_2"],
    [`a${"b".repeat(30)}`, `HOME_A${"B".repeat(30)}`],
  ])("of %j is %j, and the name follows from the binding", (home, binding) => {
    expect(HOME_NAME.test(home)).toBe(true);
    expect([bindingOfHome(home), homeOfBinding(binding)]).toEqual([binding, home]);
    expect(isMisnamed(binding)).toBe(false);
  });

  it.each([
    "HOME_",
    "HOME_1A",
    "HOME__A",
    "HOME_MAIN",
    "HOME_apac",
    "HOME_Apac_",
    "HOME_EU-WEST",
    "HOME_É",
    "HOME_\u212A",
    `HOME_A${"B".repeat(31)}`,
  ])("is not %j, which only begins like one", (binding) => {
    expect([homeOfBinding(binding), isMisnamed(binding)]).toEqual([undefined, true]);
  });

  it.each(["", "OTHER", "OTHERAPAC", "db", "HOME", "home_apac", "MY_HOME_APAC"])(
    "is not %j, which does not count as misspelled either",
    (binding) => {
      expect([homeOfBinding(binding), isMisnamed(binding)]).toEqual([undefined, false]);
    },
  );
});

describe("the names in CLOSED_HOMES", () => {
  it.each([
    [undefined, []],
    [" ", []],
    [" apac, main ,,\tapac,", ["apac", "main"]],
    ["APAC, Eu-West,apac", ["apac", "eu-west"]],
  ])("of %j are %j: commas, blanks and upper case are allowed, and each name counts once", (list, names) => {
    expect(namesIn(list)).toEqual(names);
  });
});
