import { describe, expect, it } from "vitest";

const [page = ""] = Object.values(
  import.meta.glob("../docs/threat-model.md", { query: "?raw", import: "default", eager: true }),
);
const TESTS = import.meta.glob(["./**/*.ts", "!./generated-clients/**"], {
  query: "?raw",
  import: "default",
  eager: true,
});

/** The rows of the tables: what an attacker can do, and which test shows it. */
const ROWS = [...page.matchAll(/^\| (can|stopped|open) \| (.+) \| (.+) \|$/gm)].map(
  ([, kind, what = "", proof = ""]) => ({
    kind,
    what,
    proof,
  }),
);

/** Each `test/path.ts` › "title" in a text. */
const namedIn = (text: string) =>
  [...text.matchAll(/`test\/([^`]+)` › "([^"]+)"/g)].map(([, path = "", title = ""]) => ({ path, title }));

/** Whether a file has a test with exactly this title: the first argument of `it` or of `it.each(…)`. */
function hasTest(source: string, title: string): boolean {
  const literal = JSON.stringify(title).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(\\bit|\\))\\(\\s*${literal}`).test(source);
}

describe("the threat model", () => {
  it.each(namedIn(page))("the threat model names an existing test: $path › $title", ({ path, title }) => {
    const source = TESTS[`./${path}`];
    expect(source, `test/${path}`).toBeDefined();
    expect(hasTest(source ?? "", title)).toBe(true);
  });

  it("each row of the threat model names a test, or says why there is none", () => {
    expect(ROWS.length).toBeGreaterThan(50);
    expect(page.match(/^\| (?!\||-)\S/gm)?.length).toBe(ROWS.length);
    for (const { what, proof } of ROWS) {
      const rest = proof.replaceAll(/`test\/[^`]+` › "[^"]+"/g, "").replaceAll("<br>", "");
      if (proof.startsWith("No test: ")) expect(namedIn(proof), what).toEqual([]);
      else expect([namedIn(proof).length > 0, rest], what).toEqual([true, ""]);
    }
  });

  it("each section of the threat model says what stops the attacker", () => {
    const sections = page.split(/^## /m).slice(2);
    expect(sections).toHaveLength(19);
    for (const section of sections) expect(section).toMatch(/^\| stopped \|/m);
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
