import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { main } from "../../../src/tools/cli/docs-tables.ts";
import { ROOT, readText } from "../../../src/tools/cli/layered-styles.ts";
import { numberTexts } from "../../../src/tools/docs/number-tables.ts";
import { isGoalMet, type Measured, NUMBERS, type NumberName } from "../../../src/tools/docs/numbers.ts";
import { withoutMade } from "../../../src/tools/docs/tables.ts";
import { runMain } from "../../support/run-main.ts";

const FILE = "docs/numbers.json";
const MEASURED = JSON.parse(readText(FILE)) as Measured;
const TEXTS = numberTexts(MEASURED);
/** The pages that quote a result. */
const QUOTING = ["README.md", "docs/numbers.md", "docs/scale.md", "docs/deploying.md", "docs/architecture.md"];

/** A folder with a copy of the pages and of their sources. */
const root = mkdtempSync(join(tmpdir(), "made-pages-test-"));
const PAGES = globSync(["*.md", "docs/*.md", "docs/zh/*.md"], { cwd: ROOT });
for (const path of [...PAGES, FILE, "docs/gate.json", "docs/operating", "src/client/examples"])
  cpSync(join(ROOT, path), join(root, path), { recursive: true });
afterAll(() => rmSync(root, { recursive: true }));

/** Runs the command on the copy with some files changed, and restores the copy. */
async function run(args: string[], changes: Record<string, string> = {}) {
  for (const [path, text] of Object.entries(changes)) writeFileSync(join(root, path), text);
  const { exitCode, stdout, stderr } = await runMain(main, args, { root });
  const updates: Record<string, string> = {};
  for (const path of PAGES) {
    const text = readFileSync(join(root, path), "utf8");
    if (text !== (changes[path] ?? readText(path))) updates[path] = text;
  }
  for (const path of Object.keys({ ...changes, ...updates })) writeFileSync(join(root, path), readText(path));
  return { exitCode, updates, stdout, stderr };
}

const NOTHING = { exitCode: 0, updates: {}, stdout: "", stderr: "" };

/** The bench's results, with other values for some names. */
const measuring = (values: Partial<Record<NumberName, number>>): Measured => ({
  ...MEASURED,
  results: {
    ...MEASURED.results,
    ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }])),
  },
});

describe("npm run tables", () => {
  it("npm run tables changes nothing in the committed pages", async () => {
    expect(await run([])).toEqual(NOTHING);
    expect(await run(["--check"])).toEqual(NOTHING);
  });

  it("npm run tables prints its help with --help, and writes nothing when it is called wrongly", async () => {
    const page = readText("docs/scale.md").replaceAll("creates/s<!--", "<!--");
    expect(await run(["--help"])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("--check ") });
    const wrong = await run(["--chek"], { "docs/scale.md": page });
    expect(wrong).toMatchObject({ exitCode: 2, updates: {}, stderr: expect.stringContaining("'--chek'") });
  });

  it("npm run tables restores each number that was changed by hand, and its --check fails and names the pages", async () => {
    const pages = Object.fromEntries(QUOTING.map((path) => [path, readText(path)]));
    const byHand = Object.fromEntries(
      QUOTING.map((path) => {
        const pattern = /(?<=<!-- made: [\w. -]+ -->)[^<]*\d[^<]*/g;
        return [path, readText(path).replaceAll(pattern, (number) => number.replaceAll(/\d/g, "0"))];
      }),
    );
    expect(await run([], byHand)).toEqual({ ...NOTHING, updates: pages });
    const { exitCode, updates, stderr } = await run(["--check"], byHand);
    expect([exitCode, updates]).toEqual([1, {}]);
    const lines = QUOTING.map((path) => `${path} is not what the code and the bench say: run npm run tables`);
    expect(stderr.trim().split("\n").sort()).toEqual(lines.sort());
  });

  it.each([
    ["README.md", "\n1.79 ×\n", "1.79 ×"],
    ["README.md", "\n| gzipped | 212.3 KiB |\n", "212.3 KiB"],
    ["README.md", "\nA million costs $13.83.\n", "$13.83"],
    ["docs/numbers.md", "\nA create takes 0.83 ms.\n", "0.83 ms"],
    ["docs/scale.md", "\nOne home takes 316 creates/s.\n", "316 creates/s"],
    ["docs/operating.md", `\nThe Worker has ${TEXTS["size.gzipped"]}.\n`, TEXTS["size.gzipped"]],
    ["docs/zh/integrating.md", `\n${TEXTS.million}\n`, TEXTS.million],
    ["README.zh-CN.md", "\n快 1.5 ×\n", "1.5 ×"],
    ["README.zh-CN.md", "\n一百万次 $9.17\n", "$9.17"],
    ["README.md", "\nIt is 1.4 x faster.\n", "1.4 x"],
    ["docs/architecture.md", "\nThe Worker is 3 times\nfaster.\n", "3 times\nfaster"],
    ["docs/architecture.md", "\nThe console adds 7.5 KiB.\n", "7.5 KiB"],
    ["docs/deploying.md", "\nA home bears 150 creates a\nsecond.\n", "150 creates a\nsecond"],
    ["docs/deploying.md", "\n| a million lines | $0.50 |\n", "$0.50"],
    ["docs/operating.md", "\nYou pay $12 for a million.\n", "$12"],
    ["docs/contract.md", "\nA body has 128 KiB.\n", "128 KiB"],
    ["docs/zh/receiving.md", "\n5,000 creates/s\n", "5,000 creates/s"],
  ])("npm run tables refuses a result outside the markers of a page: %s, %j", async (path, text, stray) => {
    const stderr = `${path} says ${stray}, which the bench measures, without a marker\n`;
    expect(await run([], { [path]: readText(path) + text })).toEqual({ ...NOTHING, exitCode: 1, stderr });
  });

  it("npm run tables refuses a file of results with a number too few or too many", async () => {
    const { "trips.warm": _, ...fewer } = MEASURED.results;
    for (const results of [fewer, { ...MEASURED.results, "trips.old": { value: 1 } }]) {
      const changes = { [FILE]: JSON.stringify({ ...MEASURED, results }) };
      const stderr = "docs/numbers.json has other numbers than the bench: run npm run bench\n";
      expect(await run([], changes)).toEqual({ ...NOTHING, exitCode: 1, stderr });
    }
  });

  it("npm run tables refuses a marker with an unknown name", async () => {
    const page = `${readText("docs/scale.md")}\n<!-- made: nothing -->1<!-- /made -->\n`;
    const stderr = "there is no table or number nothing\n";
    expect(await run([], { "docs/scale.md": page })).toEqual({ ...NOTHING, exitCode: 1, stderr });
  });

  it("npm run tables writes a new result into each page that quotes it", async () => {
    const changes = { [FILE]: JSON.stringify(measuring({ "rows.written": 61, "cpu.create": 77, "size.gzipped": 1 })) };
    const { updates } = await run([], changes);
    expect(Object.keys(updates).sort()).toEqual(["README.md", "docs/deploying.md", "docs/numbers.md", "docs/scale.md"]);
    expect(updates["docs/numbers.md"]).toContain("| 1.0 KiB |");
    expect(updates["docs/scale.md"]).toContain("-->61<!-- /made --> rows");
    expect(updates["docs/scale.md"]).toContain("-->77 ms<!-- /made --> of CPU each");
  });
});

describe("the page on scale", () => {
  it("the storage of docs/scale.md costs more per home when an account has more than 100,000 databases", () => {
    const [few, many] = [432, 4_320].map((bytes) => numberTexts(measuring({ "database.bytes": bytes })).storage);
    expect(few).toContain(" 13,624, $102,173 a month");
    // 1,362,350 GB at $0.75, and 36,236 homes at $0.10.
    expect(many).toContain(" 136,236, $1,025,386 a month");
  });
});

describe("the page on numbers", () => {
  it("docs/numbers.md states no count that misses its goal", () => {
    const counts = (Object.keys(NUMBERS) as NumberName[]).filter((name) => NUMBERS[name].unit === "");
    expect(counts.filter((name) => !isGoalMet(name, MEASURED.results[name]))).toEqual([]);
  });

  it("docs/numbers.md has a row for each number of the bench, with its goal and its range", () => {
    for (const [name, { what }] of Object.entries(NUMBERS)) {
      expect(TEXTS.numbers).toContain(`| \`${name.split(".")[0]}\` | ${what} | `);
    }
    const results = { ...MEASURED.results, "throughput.floor": { value: 0.9, low: 0.81, high: 0.97 } };
    expect(numberTexts({ ...MEASURED, results }).numbers).toContain("| ≥ 0.95 × | 0.90 × (0.81 to 0.97) |");
  });
});

describe("bills", () => {
  const plain: Partial<Record<NumberName, number>> = {
    "cpu.create": 0.5,
    "rows.written": 7,
    "rows.read": 24,
    "rows.pruned": 1,
    "rows.kv-reads": 1,
    "rows.kv-writes": 1,
    "rows.event": 8,
    "rows.webhook": 10,
    "rows.delivery": 3,
    "database.creates": 622,
    "database.bytes": 432,
  };
  const texts = numberTexts(measuring(plain));

  it("the price of a million creates is the sum of what they use at list prices, with pruning", () => {
    // $8 for rows written, $0.024 for rows read, $0.30 for requests, $0.01 for CPU, $0.50 and $5 for KV.
    expect([texts.million, texts["million-without-nonces"]]).toEqual(["$13.83", "$8.33"]);
    expect(texts["million-parts"]).toContain("| D1 rows written | $8.00 |");
    expect(texts["million-parts"]).toContain("| **together** | **$13.83** |");
  });

  it("the price of a month leaves out what the plan includes", () => {
    // 259.2 million creates: 2,073.6 million rows written, of which 50 are included.
    expect(texts.month).toContain("| D1 rows written | 0 | 2,024 | 207,310 |");
    expect(texts.month).toContain("| KV writes | 8 | 1,291 | 129,595 |");
    expect(texts.month).toContain("| **together** | **13** | **3,521** | **358,494** |");
    expect(texts.month).toContain("| with `NONCES` not bound | 5 | 2,105 | 215,944 |");
  });

  it("the price of events is the sum of rows, queue, invocations and the rest", () => {
    expect(texts["event-rows"]).toContain("| one webhook | 3 | 3 | 2 | 8 |");
    expect(texts["event-rows"]).toContain("| each further webhook | 2 | 3 | 1 | 6 |");
    expect(texts["event-parts"]).toContain("| queue operations: three a message, at $0.40 a million | 1.20 |");
    expect(texts["million-events"]).toBe("$9.80");
  });

  it("the price of storage counts homes by gigabytes and by the planned creates of a home, not by the measured ones", () => {
    expect([texts.planned, texts["sessions-in-a-home"], texts["free-creates"]]).toEqual([
      "150 creates/s",
      "23 million",
      "12,500",
    ]);
    expect(texts.storage).toContain("| 100 | 1 | 112 GB, 12, $80 a month | 1,362 GB, 137, $1,018 a month |");
    expect(texts.storage).toContain("| 10,000 | 67 | ");
    expect(numberTexts(measuring({ ...plain, "database.creates": 6_000 })).storage).toBe(texts.storage);
  });

  it("the prices are refused when a database takes less than four times its planned creates", () => {
    expect(() => numberTexts(measuring({ "database.creates": 600 }))).not.toThrow();
    expect(() => numberTexts(measuring({ "database.creates": 599 }))).toThrow(
      "one database takes less than 4 times the 150 creates/s that docs/scale.md advises",
    );
  });
});

it("a page without its made parts has none of their numbers", () => {
  expect(withoutMade("a <!-- made: x -->1<!-- /made --> b\n<!-- made: y -->\n\n2\n<!-- /made -->\nc")).toBe(
    "a  b\n\nc",
  );
});
