import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../support/run-cli.ts";
import { type Edit, FIELD, OPERATION } from "./throw-away/edits.ts";

const ROOT = join(import.meta.dirname, "../..");
const LEFT_OUT = ["node_modules", ".git", ".wrangler", "coverage", "dist"];

/** The operation's new files, by their paths in the copy. */
const NEW_FILES = join(import.meta.dirname, "throw-away");
const BESIDE = ["edits.ts", "tried.txt"];

/** Cheap tests that depend on the lists of operations, events, statuses and fields. */
const TESTS = [
  "architecture",
  "docs",
  "docs-receiving",
  "docs-zh",
  "tools/docs/glossary",
  "tools/docs/pages",
  "client/verify-event",
  "tools/openapi/events",
  "tools/openapi/limits",
  "operators/admin/admin-lists",
  "operators/admin/admin-webhooks",
  "core/http/documented-examples",
  "core/http/envelope",
  "core/http/signed-routes",
  "operators/console/language",
  "operators/console/webhooks/webhooks",
  "core/operations/add-agents",
  "core/operations/create-session",
  "core/operations/events",
  "core/operations/lists",
  "core/signed/fingerprint",
  "core/store/schema",
  "operators/store/home/read-session",
  "simulation/operations",
  "simulation/defects",
  "simulation/seeds",
].map((name) => `test/${name}.test.ts`);

const RECIPES = { "Add a field": FIELD, "Add an operation": OPERATION };

const CONTRIBUTING = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");
const recipeOf = (title: string) => CONTRIBUTING.split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";

/** A hash of the last trial's inputs. When the inputs are the same, only the night makes a trial. */
const TRIED = join(NEW_FILES, "tried.txt");
const inputs = createHash("sha256")
  .update(JSON.stringify(Object.keys(RECIPES).map(recipeOf)))
  .update(JSON.stringify(inputFiles().map((file) => [file, readFileSync(join(ROOT, file), "utf8")])))
  .digest("hex");
const isTried = process.env.RECIPES !== "always" && existsSync(TRIED) && readFileSync(TRIED, "utf8") === inputs;

let copy: string;
const inCopy = async (...command: string[]) => {
  const [program = "", ...args] = command;
  const env = { NO_COLOR: "1" };
  const { exitCode, stdout, stderr } = await run(join(ROOT, "node_modules/.bin", program), args, { cwd: copy, env });
  return exitCode === 0 ? "" : stdout + stderr;
};

/** A copy of the tree with the field and the operation of throw-away/, added by the steps of the recipes only. */
function makeCopy(): void {
  copy = mkdtempSync(join(tmpdir(), "recipes-test-"));
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.includes(basename(path)) });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  for (const edit of Object.values(RECIPES).flat()) apply(edit);
  for (const file of newFiles()) writeFileSync(join(copy, file), inPlace(file));
}

describe.each(Object.entries(RECIPES))("the recipe %j of CONTRIBUTING.md", (title, edits) => {
  it("names each file that is changed by hand", () => {
    const files = new Set(edits.map(([file]) => file));
    expect([...files].filter((file) => !recipeOf(title).includes(file))).toEqual([]);
  });
});

describe.skipIf(isTried)("a field and an operation that the recipes added", { timeout: 600_000 }, () => {
  beforeAll(makeCopy);
  afterAll(() => rmSync(copy, { recursive: true }));

  it("are in a migration, in openapi.json and in the tables of docs/, and pass the types and the tests", async () => {
    expect(await inCopy("drizzle-kit", "generate", "--name", "throw_away")).toBe("");
    expect(await inCopy("node", "src/tools/cli/build-docs.ts")).toBe("");
    expect(await inCopy("node", "src/tools/cli/docs-tables.ts")).toBe("");
    for (const page of ["docs/integrating.md", "docs/zh/integrating.md"]) {
      const text = readFileSync(join(copy, page), "utf8");
      expect(text).toMatch(/^\| `throwaway` \| .* \|$/m);
    }
    const openApi = readFileSync(join(copy, "src/assets/openapi.json"), "utf8");
    for (const name of ['"throwaway"', '/throw_away_gd"', '"session.thrown_away"']) expect(openApi).toContain(name);
    expect(openApi).not.toContain('"probes"');

    expect(await inCopy("tsc", "-p", ".", "--noEmit")).toBe("");

    const projects = ["workerd", "pure", "seeds"].flatMap((name) => ["--project", name]);
    expect(await inCopy("vitest", "run", "--reporter", "dot", ...projects, ...TESTS)).toBe("");
    writeFileSync(TRIED, inputs);
  });
});

function apply([file, find, replace]: Edit): void {
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  const places = [...text.matchAll(new RegExp(find, `${find.flags}g`))].length;
  if (places !== 1) throw new Error(`test/e2e/throw-away/edits.ts: ${find} stands ${places} times in ${file}`);
  writeFileSync(path, text.replace(find, replace));
}

function newFiles(): string[] {
  return readdirSync(NEW_FILES, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !BESIDE.includes(entry.name))
    .map((entry) => relative(NEW_FILES, join(entry.parentPath, entry.name)));
}

function inputFiles(): string[] {
  const own = [import.meta.filename, join(NEW_FILES, "edits.ts"), ...newFiles().map((file) => join(NEW_FILES, file))];
  const edited = Object.values(RECIPES).flatMap((edits) => edits.map(([file]) => file));
  // Pages change often, and names.json is made by the build: of these only what is edited counts.
  const folders = new Set(edited.filter((file) => !/^docs\/|\.md$/.test(file)).map((file) => dirname(file)));
  const beside = [...folders].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== "names.json")
      .map(({ name }) => join(folder, name)),
  );
  return [...new Set([...own.map((file) => relative(ROOT, file)), ...edited, ...beside, ...TESTS])].sort();
}

/** The text of a new file, with its imports as they must be in the copy. */
function inPlace(file: string): string {
  const folder = dirname(join(NEW_FILES, file));
  return readFileSync(join(NEW_FILES, file), "utf8").replaceAll(/from "(\.[^"]+)"/g, (_, path: string) => {
    const target = relative(dirname(join(ROOT, file)), join(folder, path));
    return `from "${target.startsWith(".") ? target : `./${target}`}"`;
  });
}
