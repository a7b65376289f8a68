import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { countWeight } from "../../../src/tools/cli/count-weight.ts";
import { main } from "../../../src/tools/cli/weight.ts";
import { committedRows, settleWeights, withTable } from "../../../src/tools/cli/weight-table.ts";
import { runMain } from "../../support/run-main.ts";

const folder = mkdtempSync(join(tmpdir(), "weight-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A checkout with these files. The first two are committed. */
function checkout(files: Record<string, string>): string {
  const root = mkdtempSync(join(folder, "checkout-"));
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root });
  git("init", "--quiet");
  for (const [i, [path, text]] of Object.entries(files).entries()) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), text);
    if (i < 2) git("add", path);
  }
  return root;
}

describe("counting", () => {
  it("the count of weight has a row for each folder of src and test, two levels deep, and counts files that are not committed yet", () => {
    const files = {
      "src/a.ts": "f();\n",
      "src/operators/console/parts/a.tsx": "f();\n",
      "test/b.ts": "f();\n",
      "c.ts": "f();\n",
    };
    const one = { tokens: 4, lines: 1 };
    expect([...countWeight(checkout(files))]).toEqual([
      ["src", one],
      ["src/operators/console", one],
      ["test", one],
      ["elsewhere", one],
    ]);
  });

  it.each([
    ["the lines of comments and not their words", "a.ts", "// Why.\nf(); /* so */\n", { tokens: 4, lines: 2 }],
    ["the words and signs of a string", "a.ts", 'f("one two", `three+four`, /a|b/);\n', { tokens: 16, lines: 1 }],
    ["each word of a page", "a.tsx", "x = <p>one two</p>;\n", { tokens: 12, lines: 1 }],
    ["the tokens of JSON", "a.json", '{ "a": ["b c"] }\n', { tokens: 10, lines: 1 }],
    ["the tokens of a module", "a.mjs", "export {};\n", { tokens: 4, lines: 1 }],
    ["words and signs of other files", "a.css", "a { b: c }", { tokens: 6, lines: 1 }],
  ])("the weight of a folder counts %s", (_, name, text, weight) => {
    expect(countWeight(checkout({ [`src/${name}`]: text })).get("src")).toEqual(weight);
  });

  it("the count of weight leaves out files that are ignored, made by a program, removed, or pages of the docs", () => {
    const root = checkout({
      "package-lock.json": "{}\n",
      "src/gone.ts": "f();\n",
      "test/last-release/worker.js": "f();\n",
      "src/ignored.ts": "f();\n",
      ".gitignore": "ignored.ts\n",
      "docs/a.md": "Words.\n",
    });
    rmSync(join(root, "src/gone.ts"));
    expect([...countWeight(root).keys()]).toEqual(["elsewhere"]);
  });
});

describe("the command", () => {
  it("npm run weight exits 1 for a number that rose, and 0 once a reason for it is written", async () => {
    const root = checkout({ "WEIGHT.md": "<!-- counted -->\n<!-- /counted -->\n", "src/a.ts": "f();\n" });
    const weigh = (...args: string[]) => runMain(main, args, { root });
    const readPage = () => readFileSync(join(root, "WEIGHT.md"), "utf8");
    const empty = readPage();
    for (const args of [[], ["--write"]]) {
      const { exitCode, stderr } = await weigh(...args);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining("src rose from 0 tokens, 0 lines to 4 tokens")]);
      expect(readPage()).toBe(empty);
    }
    expect((await weigh("--write", "--why", "src=It is new.")).exitCode).toBe(0);
    expect(readPage()).toContain("| src | 4 | 1 | 0 | 0 | +4, +1: It is new. |\n");
    expect((await weigh()).exitCode).toBe(0);
    writeFileSync(join(root, "src/a.ts"), "f;\n");
    expect((await weigh()).stderr).toBe("WEIGHT.md has other numbers than counted: run npm run weight -- --write.\n");
  });

  it("npm run weight exits 1 for a least weight that was raised by hand, also after a commit", async () => {
    const root = checkout({ "WEIGHT.md": "<!-- counted -->\n<!-- /counted -->\n", "src/a.ts": "f();\n" });
    const commit = () =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qam", "Weigh."], {
        cwd: root,
      });
    const weigh = (...args: string[]) => runMain(main, args, { root });
    await weigh("--write", "--why", "src=It is new.");
    commit();
    const raisedPage = readFileSync(join(root, "WEIGHT.md"), "utf8").replace(/0 \| 0 \| \+.*$/m, "4 | 1 | |");
    writeFileSync(join(root, "WEIGHT.md"), raisedPage);
    const refusal = [1, "The least of src may only fall: it was 0 tokens, 0 lines.\n"];
    for (const then of [commit, () => {}]) {
      const { exitCode, stderr } = await weigh();
      expect([exitCode, stderr]).toEqual(refusal);
      then();
    }
  });

  it.each(["src/none=It is new.", "src=it", "src"])("npm run weight exits 2 for --why %j", async (why) => {
    const root = checkout({ "WEIGHT.md": "", "src/a.ts": "f();\n" });
    expect((await runMain(main, ["--why", why], { root })).exitCode).toBe(2);
  });
});

describe("the table", () => {
  const PAGE = "Words.\n<!-- counted -->\n<!-- /counted -->\n";
  const counts = (tokens: number, lines: number) => new Map([["src/a", { tokens, lines }]]);
  const withReason = (sentence: string) => new Map([["src/a", sentence]]);
  const NONE = new Map<string, string>();

  /** The page after a count, with the count's errors. */
  function after(page: string, weights: ReturnType<typeof counts>, reasons: ReadonlyMap<string, string>) {
    const { rows, faults } = settleWeights(committedRows(page), weights, reasons);
    return { page: withTable(page, rows), faults };
  }
  const firstPage = after(PAGE, counts(1000, 100), withReason("It is new.")).page;
  const lowerPage = after(firstPage, counts(900, 90), NONE).page;

  it("a new folder needs a reason in the table of weight", () => {
    expect(after(PAGE, counts(1000, 100), NONE).faults).toEqual([expect.stringContaining("src/a rose from 0 tokens")]);
    expect(firstPage).toContain("| src/a | 1,000 | 100 | 0 | 0 | +1,000, +100: It is new. |\n");
  });

  it("a reason that is given twice stands once in the table of weight", () => {
    const again = after(firstPage, counts(1100, 110), withReason("It is new.")).page;
    expect(again).toContain("| src/a | 1,100 | 110 | 0 | 0 | +1,100, +110: It is new. |\n");
  });

  it("a number that fell needs no reason, and a second count changes nothing", () => {
    expect(after(firstPage, counts(900, 90), NONE).faults).toEqual([]);
    expect(lowerPage).toContain("| src/a | 900 | 90 | 0 | 0 | +900, +90: It is new. |\n");
    expect(after(lowerPage, counts(900, 90), NONE)).toEqual({ page: lowerPage, faults: [] });
  });

  it.each([
    ["tokens", counts(901, 90)],
    ["lines", counts(900, 91)],
  ])("more %s need a new reason in the table of weight", (_, weights) => {
    const { faults } = after(lowerPage, weights, NONE);
    expect(faults).toEqual([expect.stringMatching(/^src\/a rose from 900 tokens, 90 lines to .* say why: /)]);
    const { page, faults: none } = after(lowerPage, weights, withReason("It does more."));
    expect(none).toEqual([]);
    expect(page).toContain("It is new. It does more. |\n");
  });

  it("the table of weight differs from a page in which a number or a difference was changed by hand", () => {
    for (const [find, other] of [
      ["| 900 |", "| 950 |"],
      ["+900", "+950"],
      ["| **all of src** | 900", "| **all of src** | 800"],
    ] as const) {
      const editedPage = lowerPage.replace(find, other);
      expect(editedPage).not.toBe(lowerPage);
      expect(after(editedPage, counts(900, 90), NONE).page).not.toBe(editedPage);
    }
  });

  it("a number above its least weight needs a reason in the table of weight", () => {
    const editedPage = lowerPage.replace(" +900, +90: It is new.", "");
    expect(after(editedPage, counts(900, 90), NONE).faults).toEqual([expect.stringContaining("rose from 0 tokens")]);
  });

  it("a number at its least weight has no reason in the table of weight", () => {
    const least = lowerPage.replace("| 90 | 0 | 0 |", "| 90 | 800 | 80 |");
    expect(after(least, counts(800, 80), NONE).page).toContain("| src/a | 800 | 80 | 800 | 80 | |\n");
  });
});
