import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
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
import { simulateArguments } from "../support/run-simulate.ts";
import { ADMIN_CALL } from "./throw-away/admin-call.ts";
import { EVENT } from "./throw-away/event.ts";
import { FIELD } from "./throw-away/field.ts";
import { OPERATION } from "./throw-away/operation.ts";
import { PAGE } from "./throw-away/page.ts";
import type { Check, Step } from "./throw-away/step.ts";

const ROOT = join(import.meta.dirname, "../..");
const LEFT_OUT = ["node_modules", ".git", ".wrangler", "coverage", "dist"];

/** The recipes of CONTRIBUTING.md, and the most files that a newcomer changes by hand. */
const RECIPES: Record<string, { steps: Step[]; mostFiles: number }> = {
  "Add a field": { steps: FIELD, mostFiles: 10 },
  "Add an operation": { steps: OPERATION, mostFiles: 11 },
  "Add a call for operators": { steps: ADMIN_CALL, mostFiles: 4 },
  "Add an event for webhooks": { steps: EVENT, mostFiles: 8 },
  "Add a page of the console": { steps: PAGE, mostFiles: 5 },
};
const STEPS = Object.values(RECIPES).flatMap(({ steps }) => steps);
/** The counts of files as the recipes write them, from zero. */
const COUNTS = "no one two three four five six seven eight nine ten eleven".split(" ");

/** Cheap tests, beside those that turn red, which walk the lists of operations, events, statuses and fields. */
const TESTS = [
  "test/architecture",
  "test/docs",
  "test/docs-zh",
  "test/tools/docs/glossary",
  "test/tools/docs/pages",
  "test/client/verify-event",
  "test/operators/admin/admin-lists",
  "test/operators/admin/admin-webhooks",
  "test/operators/console/calls",
  "test/operators/console/sessions/session-page",
  "test/operators/http/calls",
  "test/operators/http/roles",
  "test/tools/openapi/events",
  "test/operators/console/violation-texts",
  "test/operators/console/webhooks/webhooks",
  "test/core/http/documented-examples",
  "test/core/http/envelope",
  "test/core/http/signed-routes",
  "test/core/operations/events",
  "test/core/operations/statuses",
  "test/core/signed/fingerprint",
  "test/core/store/schema",
  "test/operators/store/home/read-session",
  "test/simulation/defects",
  "test/simulation/seeds",
];

const CONTRIBUTING = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");
const recipeOf = (title: string) => CONTRIBUTING.split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";
const filesOf = (steps: Step[]) => [...new Set(steps.map(({ file }) => file))];

const NEW_FILES = join(import.meta.dirname, "throw-away");

/** A hash of the last trial's inputs. When the inputs are the same, only the night makes a trial. */
const TRIED = join(NEW_FILES, "tried.txt");
const inputs = createHash("sha256")
  .update(JSON.stringify(Object.keys(RECIPES).map(recipeOf)))
  .update(JSON.stringify(inputFiles().map((file) => [file, readFileSync(join(ROOT, file), "utf8")])))
  .digest("hex");
const isTried = process.env.RECIPES !== "always" && existsSync(TRIED) && readFileSync(TRIED, "utf8") === inputs;

/** Runs a program of node_modules in a copy. @returns what it printed when it failed, and otherwise nothing */
async function runIn(copy: string, program: string, ...args: string[]): Promise<string> {
  const path = program === "node" ? process.execPath : join(ROOT, "node_modules/.bin", program);
  const { exitCode, stdout, stderr } = await run(path, args, { cwd: copy, env: { NO_COLOR: "1" } });
  return exitCode === 0 ? "" : `${stdout}${stderr}` || `${program} failed`;
}

function check(copy: string, ...checks: Check[]): Promise<string> {
  const [first = "types"] = checks;
  if (first === "types") return runIn(copy, "tsc", "-p", ".", "--noEmit");
  if (first === "docs") return runIn(copy, "node", "src/tools/cli/build-docs.ts");
  if (first === "tables") return runIn(copy, "node", "src/tools/cli/docs-tables.ts", "--check");
  if (first === "simulation") {
    const [simulate = "", ...options] = simulateArguments().toReversed();
    return runIn(copy, "node", ...options, join(copy, relative(ROOT, simulate)), "--seeds", "16", "--threads", "1");
  }
  const projects = ["workerd", "pure", "node", "seeds"].flatMap((name) => ["--project", name]);
  return runIn(copy, "vitest", "run", "--reporter", "dot", ...projects, ...checks.map((test) => `${test}.test.ts`));
}

describe.each(Object.entries(RECIPES))("the recipe %j of CONTRIBUTING.md", (title, { steps, mostFiles }) => {
  it("the recipe names each existing file that is changed by hand, and says how many these are: few", () => {
    const known = filesOf(steps).filter((file) => existsSync(join(ROOT, file)));
    expect(known.filter((file) => !recipeOf(title).includes(file))).toEqual([]);
    const [, few = "", all = few] = /(\w+) files(?:, or (\w+) [^.]*)?\./.exec(recipeOf(title)) ?? [];
    expect(filesOf(steps).length).toBe(COUNTS.indexOf(all.toLowerCase()));
    expect(filesOf(steps).length).toBeLessThanOrEqual(mostFiles);
  });
});

describe.skipIf(isTried)("what the recipes add to a copy of the tree", { timeout: 900_000 }, () => {
  let folder: string;
  let copy: string;
  /** Copies that no step uses now. There are two, because two processors can try two steps at once. */
  const free: string[] = [];
  let passes = 0;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "recipes-test-"));
    copy = join(folder, "a");
    cpSync(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.includes(basename(path)) });
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
    for (const file of filesOf(STEPS)) write(copy, file, textOf(file));
    expect(await check(copy, "test/core/store/schema"), "without a migration").not.toBe("");
    expect(await runIn(copy, "drizzle-kit", "generate", "--name", "throw_away")).toBe("");
    expect(await check(copy, "docs")).toBe("");
    expect(await check(copy, "tables"), "without npm run tables").not.toBe("");
    expect(await runIn(copy, "node", "src/tools/cli/docs-tables.ts")).toBe("");
    cpSync(copy, join(folder, "b"), { recursive: true, verbatimSymlinks: true });
    free.push(copy, join(folder, "b"));
  }, 600_000);
  afterAll(() => {
    rmSync(folder, { recursive: true });
    if (passes === 1 + STEPS.length) writeFileSync(TRIED, inputs);
  });

  it("a copy with all that the recipes add passes the types, the builds and the tests", async () => {
    for (const page of ["docs/integrating.md", "docs/zh/integrating.md"]) {
      const text = readFileSync(join(copy, page), "utf8");
      for (const name of ["`throwaway`", "`POST /openapi/chat/throw_away_gd`"]) expect(text).toContain(`\n| ${name} |`);
    }
    const openApi = readFileSync(join(copy, "src/assets/openapi.json"), "utf8");
    for (const name of ['"throwaway"', '/throw_away_gd"', '"session.thrown_away"']) expect(openApi).toContain(name);
    expect(openApi).not.toContain('"probes"');

    const checks = new Set(STEPS.map((step) => step.red));
    const tests = [...checks].filter((each) => each.startsWith("test/"));
    for (const each of [...checks].filter((name) => !tests.includes(name))) expect(await check(copy, each)).toBe("");
    expect(await check(copy, ...new Set([...tests, ...TESTS] as Check[]))).toBe("");
    passes++;
  });

  const cases = Object.entries(RECIPES).flatMap(([title, { steps }]) =>
    steps.map((step, i) => ({ title, number: i + 1, step, ...step })),
  );
  it.concurrent.each(cases)("without step $number of the recipe $title, in $file, $red is red", async ({ step }) => {
    const lane = await takeCopy();
    try {
      write(lane, step.file, textOf(step.file, step));
      expect(await check(lane, step.red)).not.toBe("");
      passes++;
    } finally {
      write(lane, step.file, textOf(step.file));
      if (step.red === "docs") await check(lane, "docs");
      giveBack(lane);
    }
  });

  const waiting: ((copy: string) => void)[] = [];
  async function takeCopy(): Promise<string> {
    return free.pop() ?? new Promise((resolve) => waiting.push(resolve));
  }
  function giveBack(lane: string): void {
    const next = waiting.shift();
    if (next === undefined) free.push(lane);
    else next(lane);
  }
});

/** A file as the steps make it, all but one; undefined when it does not exist then. @throws Error for an edit without one place */
function textOf(file: string, without?: Step): string | undefined {
  const path = join(ROOT, file);
  let text = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  for (const step of STEPS.filter((each) => each.file === file && each !== without)) {
    if ("text" in step) text = step.text;
    else if ("copied" in step) text = inPlace(file);
    else text = edit(file, text ?? "", step);
  }
  return text;
}

function edit(file: string, text: string, { find, replace }: { find: RegExp; replace: string }): string {
  const places = [...text.matchAll(new RegExp(find, `${find.flags}g`))].length;
  if (places !== 1) throw new Error(`test/e2e/throw-away: ${find} stands ${places} times in ${file}`);
  return text.replace(find, replace);
}

function write(copy: string, file: string, text: string | undefined): void {
  const path = join(copy, file);
  if (text === undefined) {
    rmSync(path);
    return;
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** The text of a copied file, with its imports as they must be in the copy. */
function inPlace(file: string): string {
  const folder = dirname(join(NEW_FILES, file));
  return readFileSync(join(NEW_FILES, file), "utf8").replaceAll(/from "(\.[^"]+)"/g, (_, path: string) => {
    const target = relative(dirname(join(ROOT, file)), join(folder, path));
    return `from "${target.startsWith(".") ? target : `./${target}`}"`;
  });
}

function inputFiles(): string[] {
  const own = readdirSync(NEW_FILES, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== basename(TRIED))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
  const files = filesOf(STEPS).filter((file) => existsSync(join(ROOT, file)));
  const tests = [...TESTS, ...STEPS.map(({ red }) => red)].filter((each) => each.startsWith("test/"));
  // Pages change often, and names.json is made by the build: of these only what is edited counts.
  const folders = new Set(files.filter((file) => !/^docs\/|\.md$/.test(file)).map((file) => dirname(file)));
  const beside = [...folders].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== "names.json")
      .map(({ name }) => join(folder, name)),
  );
  const all = [
    relative(ROOT, import.meta.filename),
    ...own,
    ...files,
    ...beside,
    ...tests.map((test) => `${test}.test.ts`),
  ];
  return [...new Set(all)].filter((file) => existsSync(join(ROOT, file))).sort();
}
