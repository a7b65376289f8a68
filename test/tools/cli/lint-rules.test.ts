import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
const BIOME = join(ROOT, "node_modules/@biomejs/biome/bin/biome");

const BARE = [
  "Date.now()",
  "Date.now",
  "Date()",
  "new Date()",
  "Math.random()",
  "performance.now()",
  "crypto.randomUUID()",
  "crypto.getRandomValues(new Uint8Array(8))",
  "setTimeout(() => {}, 1)",
  "setInterval(() => {}, 1)",
  "scheduler.wait(1)",
  "globalThis.setTimeout",
  'console.log("")',
  'console.error("")',
];

const ALLOWED = [
  "new Date(0)",
  "Date.parse('')",
  "Math.max(1, 2)",
  "crypto.subtle",
  "(runtime: { now: () => number }) => runtime.now()",
];

const SPREADS = [
  "[...[1, 2]]",
  "({ ...{ a: 1 } })",
  "Math.max(...[1, 2])",
  "<div {...{ id: 1 }} />",
  "[...([1] as number[])]",
  "({ ...({ a: 1 } satisfies object) })",
];

const OTHER_SPREADS = [
  "[...[1, 2].map(String), ...(isDark ? [3] : [])]",
  "({ ...(isDark && { a: 1 }) })",
  "<div {...props} />",
];

const SHORT_LIMITS = [
  'it("waits", { timeout: 5_000 }, run)',
  'it("waits", { "timeout": 29999 }, run)',
  'it("waits", { timeout: 5 * 1000 }, run)',
  'it("waits", { timeout: 5e3 }, run)',
  'it("waits", run, 20_000)',
  "beforeAll(run, 10_000)",
  "vi.setConfig({ testTimeout: 15_000 })",
  "page.setDefaultTimeout(15_000)",
  "AbortSignal.timeout(2_000)",
  "eventually(run, 500)",
  "vi.waitFor(run)",
  "vi.waitUntil(run)",
];

const LONG_LIMITS = [
  'it("waits", { timeout: 30_000 }, run)',
  'it("waits", run, 120_000)',
  "AbortSignal.timeout(60_000)",
];

/** Files that may use time, chance and the console: those that provide them, and those that do not run in the Worker. */
const FREE = [
  "src/core/runtime.ts",
  "src/core/telemetry/a.ts",
  "src/client/a.ts",
  "src/tools/cli/a.ts",
  "src/tools/docs/browser/a.js",
];

/** All other files of src/. */
const BOUND = ["src/app.ts", "src/operators/console/a.tsx", "src/tools/openapi/a.ts"];

const lines = (expressions: string[]) => expressions.map((each, i) => `export const v${i} = ${each};\n`).join("");

const ANYWHERE = ["src/spreads.tsx", "src/tools/cli/spreads.tsx", "test/spreads.tsx"];

/** The lines that biome reports, by the path of the file. */
const linesByPath: Record<string, number[]> = {};
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lint-"));
  await Promise.all(
    ["biome.json", "lint"].map((name) => cp(join(ROOT, name), join(folder, name), { recursive: true })),
  );
  const files = {
    ...texts([...FREE, ...BOUND], lines(BARE)),
    ...texts(ANYWHERE, lines([...SPREADS, ...OTHER_SPREADS])),
    "test/limits.ts": lines([...SHORT_LIMITS, ...LONG_LIMITS]),
    "src/allowed.ts": lines(ALLOWED),
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  // --vcs-enabled=false is needed, because the folder is no repository. Biome exits 1 when it finds something.
  const args = ["lint", "--vcs-enabled=false", "--reporter=json", "--max-diagnostics=none", "src", "test"];
  const { stdout } = await promisify(execFile)(process.execPath, [BIOME, ...args], { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  );
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: LintFinding[] };
  for (const { category, location } of diagnostics) {
    if (category === "plugin" || category === "lint/style/noRestrictedGlobals") {
      const pathLines = linesByPath[location.path] ?? [];
      linesByPath[location.path] = pathLines;
      pathLines.push(location.start.line);
    }
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface LintFinding {
  category: string;
  location: { path: string; start: { line: number } };
}

const texts = (paths: string[], text: string) => Object.fromEntries(paths.map((path) => [path, text]));

describe("the lint rule on time, chance and the console", () => {
  it.each(BOUND)("the lint rule on time, chance and the console finds each bare use in %s", (path) => {
    expect(linesByPath[path]?.sort((a, b) => a - b)).toEqual(BARE.map((_, i) => i + 1));
  });

  it.each(FREE)("the lint rule on time, chance and the console exempts %s", (path) => {
    expect(linesByPath[path]).toBeUndefined();
  });

  it("the lint rule on time, chance and the console finds nothing in a file without a clock or a random number", () => {
    expect(linesByPath["src/allowed.ts"]).toBeUndefined();
  });
});

describe("the lint rule on spreads of literals", () => {
  it.each(ANYWHERE)("the lint rule on spreads of literals finds each in %s, and no other spread", (path) => {
    expect(linesByPath[path]?.sort((a, b) => a - b)).toEqual(SPREADS.map((_, i) => i + 1));
  });
});

describe("the lint rule on limits of time in tests", () => {
  it("the lint rule on time limits in tests finds each limit below 30 s", () => {
    expect(linesByPath["test/limits.ts"]?.sort((a, b) => a - b)).toEqual(SHORT_LIMITS.map((_, i) => i + 1));
  });
});
