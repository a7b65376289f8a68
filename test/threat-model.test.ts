import { describe, expect, it } from "vitest";
import PROOFS from "./threat-model.json";

const [page = ""] = Object.values(
  import.meta.glob("../docs/threat-model.md", { query: "?raw", import: "default", eager: true }),
);
const TESTS = import.meta.glob(["./**/*.ts", "!./generated-clients/**"], {
  query: "?raw",
  import: "default",
  eager: true,
});

/** What an attacker tries, by section of the page: the first column of each row of a table. */
const ATTEMPTS = Object.fromEntries(
  page
    .split(/^## /m)
    .slice(2)
    .map((section) => [
      section.slice(0, section.indexOf("\n")),
      [...section.matchAll(/^\| \*\*(?:can|stopped|open)\*\* (.+?) \| .{4,} \|$/gm)].map(([, attempt]) => attempt),
    ]),
);

/** threat-model.json: for each attempt the tests that show what the page says of it, or why there is no test. */
const SECTIONS: Record<string, Record<string, string[] | string>> = PROOFS;
const ROWS = Object.values(SECTIONS).flatMap((attempts) => Object.entries(attempts));
const NAMED = ROWS.flatMap(([attempt, proof]) =>
  (typeof proof === "string" ? [] : proof).map((test) => {
    const [path = "", title = ""] = test.split(" › ");
    return { attempt, path, title };
  }),
);

/** Whether a file has a test with exactly this title: the first argument of `it` or of `it.each(…)`. */
function hasTest(source: string, title: string): boolean {
  const literal = JSON.stringify(title).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(\\bit|\\))\\(\\s*${literal}`).test(source);
}

describe("the threat model", () => {
  it("each row of the threat model is in threat-model.json and each entry there is a row, in the same order", () => {
    const listed = Object.entries(SECTIONS).map(([section, attempts]) => [section, Object.keys(attempts)]);
    expect(Object.entries(ATTEMPTS)).toEqual(listed);
    // A row that the pattern above does not match would be missed.
    expect(page.match(/^\| (?!attempt \| answer)/gm)?.length).toBe(ROWS.length);
    expect(ROWS.length).toBeGreaterThan(90);
  });

  it.each(NAMED)("the threat model rests on an existing test: $path › $title", ({ path, title }) => {
    const source = TESTS[`./${path}`];
    expect(source, `test/${path}`).toBeDefined();
    expect(hasTest(source ?? "", title)).toBe(true);
  });

  it.each(ROWS)("the threat model has a test or a reason why there is none: %s", (_, proof) => {
    expect(proof.length).toBeGreaterThan(typeof proof === "string" ? 20 : 0);
  });

  it("each section of the threat model says what is stopped", () => {
    const sections = page.split(/^## /m).slice(2);
    expect(sections).toHaveLength(19);
    for (const section of sections) expect(section).toMatch(/^\| \*\*stopped\*\* /m);
  });
});

describe("the check of titles", () => {
  it("hasTest() finds a title only in it() and it.each(), and only the whole title", () => {
    expect(hasTest('it("does (all) of it", () => {})', "does (all) of it")).toBe(true);
    expect(hasTest('it.each([1, 2])(\n  "takes %i",\n  () => {})', "takes %i")).toBe(true);
    expect(hasTest('describe("does it", () => {})', "does it")).toBe(false);
    expect(hasTest('// "does it"', "does it")).toBe(false);
    expect(hasTest('it("does it twice", () => {})', "does it")).toBe(false);
  });
});
