import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { main } from "../../../src/tools/cli/docs-tables.ts";
import { runMain } from "../../support/run-main.ts";

const PROJECT = join(import.meta.dirname, "../../..");
const root = mkdtempSync(join(tmpdir(), "docs-tables-test-"));
for (const part of ["docs", "src/client", "README.md"])
  cpSync(join(PROJECT, part), join(root, part), { recursive: true });
afterAll(() => rmSync(root, { recursive: true }));

const GUIDE = join(root, "docs/integrating.md");
const STALE = "| `appid` | text |";

it.each([
  [
    "a table that does not exist",
    "<!-- made: fields of_nobody -->\n\n<!-- /made -->",
    "there is no signed call of_nobody",
  ],
  ["a number of the bench outside of its markers", "It is 99.9 × faster.", "docs/zh/retrying.md says 99.9 ×"],
])("npm run tables writes no page while one page has %s", async (_, fault, message) => {
  const last = join(root, "docs/zh/retrying.md");
  const right = [GUIDE, last].map((file) => readFileSync(file, "utf8")) as [string, string];
  writeFileSync(GUIDE, right[0].replace("| `appid` | string |", STALE));
  writeFileSync(last, `${right[1]}\n${fault}\n`);
  const outcome = await runMain(main, [], { root });
  expect([outcome.exitCode, outcome.stderr]).toEqual([1, expect.stringContaining(message)]);
  expect(readFileSync(GUIDE, "utf8")).toContain(STALE);

  writeFileSync(last, right[1]);
  expect((await runMain(main, [], { root })).exitCode).toBe(0);
  expect([GUIDE, last].map((file) => readFileSync(file, "utf8"))).toEqual(right);
});
