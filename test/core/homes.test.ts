import { describe, expect, it } from "vitest";
import {
  bindingOfHome,
  closedBy,
  closedSecret,
  HOME_NAME,
  homeOfBinding,
  homeOfSecret,
  isMisnamed,
} from "../../src/core/homes.ts";

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

describe("the secret that closes a home", () => {
  it.each([
    ["main", "CLOSED_MAIN"],
    ["eu-west", "CLOSED_EU_WEST"],
    // Never CLOSED_HOMES, which is the list of the release before.
    ["homes", "CLOSED__HOMES"],
  ])("of %j is %j, and the name follows from the secret", (home, secret) => {
    expect([closedSecret(home), homeOfSecret(secret)]).toEqual([secret, home]);
  });

  it.each(["CLOSED_HOMES", "CLOSED_", "CLOSED_1A", "CLOSED__APAC", "CLOSED_apac", "CLOSED", "HOME_APAC", "MASTER_KEY"])(
    "is not %j",
    (name) => expect(homeOfSecret(name)).toBe(undefined),
  );
});

describe("the homes that settings close", () => {
  it.each([
    [{}, []],
    [{ CLOSED_APAC: "", CLOSED_HOMES: "" }, ["apac"]],
    [{ CLOSED_APAC: "x", CLOSED_EU_WEST: {}, MASTER_KEY: "x" }, ["apac"]],
    [{ CLOSED_HOMES: " apac, Eu-West ,,\tapac,", CLOSED_MAIN: "0" }, ["apac", "eu-west", "main"]],
  ])("%j are %j: by secrets of any value, and by the list of the release before", (settings, homes) => {
    expect(closedBy(settings)).toEqual(homes);
  });
});
