import { describe, expect, it } from "vitest";
import { closedAfter, newHome } from "../../src/cli/home-options.ts";
import { bindingOf, closedByOption, closedHomesIn, homeOf, homesOf } from "../../src/cli/homes.ts";

const HOMES = ["main", "apac", "eu-west"];

describe("a home's binding", () => {
  it.each([
    ["main", "DB"],
    ["apac", "HOME_APAC"],
    ["eu-west-2", "HOME_EU_WEST_2"],
    [`a${"b".repeat(30)}`, `HOME_A${"B".repeat(30)}`],
  ])("of %j is %j, and the other way round", (home, binding) => {
    expect([bindingOf(home), homeOf(binding)]).toEqual([binding, home]);
  });

  it.each(["OTHER", "HOME_", "HOME_1", "home_apac", "HOME_apac", `HOME_A${"B".repeat(31)}`])("is not %j", (binding) => {
    expect(homeOf(binding)).toBe(undefined);
  });

  it("is looked for among all D1 bindings, main first", () => {
    const bindings = ["HOME_OC", "OTHER", "DB", "HOME_APAC"].map((binding) => ({ binding }));
    expect(homesOf(bindings)).toEqual(["main", "oc", "apac"]);
  });

  it("is new only once, with a database named after the one of DB and its migrations", () => {
    const main = { binding: "DB", database_name: "shop", migrations_dir: "sql" };
    const block = { binding: "HOME_EU_WEST", database_name: "shop-eu-west", migrations_dir: "sql" };
    expect(newHome("eu-west", [main])).toEqual(block);
    expect(newHome("eu-west", [main, { ...block, database_name: "by hand" }])).toBe(undefined);
  });
});

describe("CLOSED_HOMES", () => {
  it("holds names between commas, blanks allowed, and the last --var counts", () => {
    expect(closedHomesIn(" apac, main ,,apac,")).toEqual(["apac", "main"]);
    expect(closedHomesIn(" ")).toEqual([]);
    expect(closedByOption(["CLOSED_HOMES:main", "OTHER:x", "CLOSED_HOMES:apac,oc"])).toBe("apac,oc");
    expect(closedByOption(["OTHER:CLOSED_HOMES:x"])).toBe(undefined);
  });

  it.each([
    ["", { close: ["apac"] }, "apac", ["apac"]],
    ["apac", { close: ["main", "apac"] }, "apac,main", ["apac", "main"]],
    ["apac, main", { open: ["apac"] }, "main", ["main"]],
    ["apac", { open: ["apac"] }, "", []],
    ["apac", { close: ["apac"], open: ["main"] }, undefined, ["apac"]],
    [" apac ", {}, undefined, ["apac"]],
    ["apac", { byOption: "eu-west" }, undefined, ["eu-west"]],
    ["apac", { byOption: "" }, undefined, []],
  ])("of %j with %j is written as %j and closes %j", (before, asked, toWrite, effective) => {
    const all = { close: [], open: [], byOption: undefined, ...asked };
    expect(closedAfter(before, all, HOMES)).toEqual({ toWrite, effective });
  });
});
