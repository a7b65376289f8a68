import { describe, expect, it } from "vitest";
import { BINDING_RULE } from "../../../src/core/homes.ts";
import { closedAfter, newHome } from "../../../src/tools/cli/home-options.ts";
import { homesOf, Misconfigured } from "../../../src/tools/cli/homes.ts";

const bound = (...bindings: string[]) => bindings.map((binding) => ({ binding }));

describe("the homes of a configuration", () => {
  it("the homes of a configuration are found among all D1 bindings, main first", () => {
    expect(homesOf(bound("HOME_OC", "OTHER", "DB", "HOME_APAC"))).toEqual(["main", "oc", "apac"]);
  });

  it("all wrong names of homes are refused together, with the rule", () => {
    const misnamed = new Misconfigured(`No home can be bound as HOME_1A or HOME_Apac_ or HOME_MAIN. ${BINDING_RULE}`);
    expect(() => homesOf(bound("HOME_1A", "DB", "HOME_Apac_", "HOME_APAC", "HOME_MAIN"))).toThrow(misnamed);
  });

  it("a new home is made only once, with a database named after the one of DB and the same migrations", () => {
    const main = { binding: "DB", database_name: "shop", migrations_dir: "sql" };
    const block = { binding: "HOME_EU_WEST", database_name: "shop-eu-west", migrations_dir: "sql" };
    expect(newHome("eu-west", [main])).toEqual(block);
    expect(newHome("eu-west", [main, { ...block, database_name: "by hand" }])).toBe(undefined);
  });
});

describe("the closed homes", () => {
  it.each([
    [[], { close: ["apac"] }, ["apac"]],
    [["apac"], { close: ["main", "apac"] }, ["apac", "main"]],
    [["apac", "main"], { open: ["apac"] }, ["main"]],
    [["apac"], { open: ["apac"] }, []],
    [["apac"], { close: ["apac"], open: ["main"] }, ["apac"]],
  ])("the closed homes %j, changed by %j, become %j", (before, change, after) => {
    expect(closedAfter(before, { close: [], open: [], ...change })).toEqual(after);
  });
});
