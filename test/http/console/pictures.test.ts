import { expect, it } from "vitest";
import { CONSOLE_CALLS } from "../../../src/http/console/calls.ts";
import { PAGES } from "../../browser/pages.ts";

/** Pages that have no address to add: the first leads on to the second page, one is for strangers, and only a form leads to the last. */
const WITHOUT = ["/sites", "/sign-in", "/sites/:site_id/apps/:appid/test/result"];

it("every page of the console is looked at: by people in pictures, and by the rules for all pages", () => {
  const calls = CONSOLE_CALLS.filter(({ method, path }) => method === "get" && !WITHOUT.includes(path));
  const known = new Set(PAGES.map(({ call }) => call));
  expect(calls.map(({ path }) => path).filter((path) => !known.has(path))).toEqual([]);
});

it("every page that is looked at is one of the console", () => {
  const paths = CONSOLE_CALLS.filter(({ method }) => method === "get").map(({ path }) => path);
  const strange = PAGES.filter(({ call }) => call !== "" && !paths.includes(call));
  expect(strange.map(({ name }) => name)).toEqual([]);
});
