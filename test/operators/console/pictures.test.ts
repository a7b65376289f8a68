import { expect, it } from "vitest";
import { CONSOLE_CALLS } from "../../../src/operators/console/calls.ts";
import { PAGES } from "../../browser/pages.ts";

/** Pages without a picture: a redirect, the sign-in, a page that only a form leads to, and files. */
const WITHOUT = [
  "/sites",
  "/sign-in",
  "/sites/:site_id/apps/:appid/test/result",
  "/audit.csv",
  "/sites/:site_id/audit.csv",
];

it("every page of the console has a picture and is checked by the rules for all pages", () => {
  const calls = CONSOLE_CALLS.filter(({ method, path }) => method === "get" && !WITHOUT.includes(path));
  const knownCalls = new Set(PAGES.map(({ call }) => call));
  expect(calls.map(({ path }) => path).filter((path) => !knownCalls.has(path))).toEqual([]);
});

it("every page with a picture is a page of the console", () => {
  const paths = CONSOLE_CALLS.filter(({ method }) => method === "get").map(({ path }) => path);
  const strange = PAGES.filter(({ call }) => call !== "" && !paths.includes(call));
  expect(strange.map(({ name }) => name)).toEqual([]);
});

const TESTS: string[] = Object.values(
  import.meta.glob(["./**/*.test.ts", "!./{calls,pictures}.test.ts"], {
    query: "?raw",
    import: "default",
    eager: true,
  }),
);

it("a test of the console names the address of every page, or at least the last words of the address", () => {
  const pages = CONSOLE_CALLS.filter(({ method }) => method === "get").map(({ path }) => path);
  const untested = pages.filter((path) => {
    const words = path.split(/:\w+/).findLast((part) => part !== "") ?? "";
    const end = words.endsWith("/") ? "" : "(?![\\w-])";
    return !TESTS.some((text) => new RegExp(RegExp.escape(words) + end).test(text));
  });
  expect(untested).toEqual([]);
});
