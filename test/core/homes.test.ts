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
  ])("the binding of the home %j is %j, and the name follows from the binding", (home, binding) => {
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
  ])("%j is no home's binding, although it begins like one", (binding) => {
    expect([homeOfBinding(binding), isMisnamed(binding)]).toEqual([undefined, true]);
  });

  it.each(["", "OTHER", "OTHERAPAC", "db", "HOME", "home_apac", "MY_HOME_APAC"])(
    "%j is no home's binding, and does not count as misspelled",
    (binding) => {
      expect([homeOfBinding(binding), isMisnamed(binding)]).toEqual([undefined, false]);
    },
  );
});

describe("the secret that closes a home", () => {
  it.each([
    ["main", "CLOSED_MAIN"],
    ["eu-west", "CLOSED_EU_WEST"],
    // The secret is not CLOSED_HOMES, because that is the list of the previous release.
    ["homes", "CLOSED__HOMES"],
  ])("the secret that closes the home %j is %j, and the name follows from the secret", (home, secret) => {
    expect([closedSecret(home), homeOfSecret(secret)]).toEqual([secret, home]);
  });

  it.each(["CLOSED_HOMES", "CLOSED_", "CLOSED_1A", "CLOSED__APAC", "CLOSED_apac", "CLOSED", "HOME_APAC", "MASTER_KEY"])(
    "%j is not the secret of a home",
    (name) => expect(homeOfSecret(name)).toBe(undefined),
  );
});

describe("the homes that settings close", () => {
  it.each([
    [{}, []],
    [{ CLOSED_APAC: "", CLOSED_HOMES: "" }, ["apac"]],
    [{ CLOSED_APAC: "x", CLOSED_EU_WEST: {}, MASTER_KEY: "x" }, ["apac"]],
    [{ CLOSED_HOMES: " apac, Eu-West ,,\tapac,", CLOSED_MAIN: "0" }, ["apac", "eu-west", "main"]],
  ])("the settings %j close %j: secrets with any value, and the list of the previous release", (settings, homes) => {
    expect(closedBy(settings)).toEqual(homes);
  });
});
