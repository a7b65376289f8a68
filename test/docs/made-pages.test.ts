import { describe, expect, it } from "vitest";
import { docsTables } from "../../src/cli/docs-tables.ts";
import { readText } from "../../src/cli/layered-styles.ts";
import { numberTexts } from "../../src/docs/number-tables.ts";
import { isMet, type Measured, NUMBERS, type NumberName } from "../../src/docs/numbers.ts";
import { withoutMade } from "../../src/docs/tables.ts";

const FILE = "docs/numbers.json";
const MEASURED = JSON.parse(readText(FILE)) as Measured;
const TEXTS = numberTexts(MEASURED);
/** The pages that quote a result. */
const QUOTING = ["README.md", "docs/numbers.md", "docs/scale.md", "docs/deploying.md", "docs/architecture.md"];

/** Runs the command on the repository, with some of its files changed. */
function run(args: string[], changed: Record<string, string> = {}) {
  const [written, told]: [Record<string, string>, string[]] = [{}, []];
  const code = docsTables(args, {
    read: (path) => changed[path] ?? readText(path),
    write: (path, text) => {
      written[path] = text;
    },
    tell: (line) => told.push(line),
  });
  return { code, written, told };
}

/** The results, with others for some names. */
const measuring = (values: Partial<Record<NumberName, number>>): Measured => ({
  ...MEASURED,
  results: {
    ...MEASURED.results,
    ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }])),
  },
});

describe("npm run tables", () => {
  it("has nothing to write into the pages as they are", () => {
    expect(run([])).toEqual({ code: 0, written: {}, told: [] });
    expect(run(["--check"])).toEqual({ code: 0, written: {}, told: [] });
  });

  it.each(QUOTING)(
    "undoes each number of %s that was changed by hand, and its check fails and names the page",
    (path) => {
      const page = readText(path);
      const byHand = page.replaceAll(/(?<=<!-- made: [\w. -]+ -->)[^<]*\d[^<]*/g, (made) =>
        made.replaceAll(/\d/g, "0"),
      );
      expect(byHand).not.toBe(page);
      expect(run([], { [path]: byHand })).toEqual({ code: 0, written: { [path]: page }, told: [] });
      const told = [expect.stringContaining(path)];
      expect(run(["--check"], { [path]: byHand })).toEqual({ code: 1, written: {}, told });
    },
  );

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
  ])("refuses, in %s and without a marker, %j", (path, added, stray) => {
    const written: string[] = [];
    const read = (file: string) => (file === path ? readText(file) + added : readText(file));
    const io = { read, write: (file: string) => written.push(file), tell: () => {} };
    expect(() => docsTables([], io)).toThrow(`${path} says ${stray}, which the bench measures, without a marker`);
    expect(written).toEqual([]);
  });

  it("refuses a file of results that has not all numbers of the bench, and no other", () => {
    const { "trips.warm": _, ...fewer } = MEASURED.results;
    for (const results of [fewer, { ...MEASURED.results, "trips.old": { value: 1 } }]) {
      const changed = { [FILE]: JSON.stringify({ ...MEASURED, results }) };
      expect(() => run([], changed)).toThrow("docs/numbers.json has other numbers than the bench");
    }
  });

  it("refuses a marker of what there is none of", () => {
    const page = `${readText("docs/scale.md")}\n<!-- made: nothing -->1<!-- /made -->\n`;
    expect(() => run([], { "docs/scale.md": page })).toThrow("there is no table or number nothing");
  });

  it("writes a new result into each page that quotes it", () => {
    const changed = { [FILE]: JSON.stringify(measuring({ "rows.written": 61, "cpu.create": 77, "size.gzipped": 1 })) };
    const { written } = run([], changed);
    expect(Object.keys(written).sort()).toEqual(["README.md", "docs/deploying.md", "docs/numbers.md", "docs/scale.md"]);
    expect(written["README.md"]).toContain("-->1.0 KiB<!--");
    expect(written["docs/scale.md"]).toContain("-->61<!-- /made --> rows");
    expect(written["docs/scale.md"]).toContain("-->77 ms<!-- /made --> of CPU each");
  });
});

describe("the page on numbers", () => {
  it("states no count that misses its goal", () => {
    const counts = (Object.keys(NUMBERS) as NumberName[]).filter((name) => NUMBERS[name].unit === "");
    expect(counts.filter((name) => !isMet(name, MEASURED.results[name]))).toEqual([]);
  });

  it("has a row for each number of the bench, with its goal and its range", () => {
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

  it("of a million creates are the sum of what they use at list prices, with pruning", () => {
    // $8 for rows written, $0.024 for rows read, $0.30 for requests, $0.01 for CPU, $0.50 and $5 for KV.
    expect([texts.million, texts["million-without-nonces"]]).toEqual(["$13.83", "$8.33"]);
    expect(texts["million-parts"]).toContain("| D1 rows written | $8.00 |");
    expect(texts["million-parts"]).toContain("| **together** | **$13.83** |");
  });

  it("of a month leave out what the plan includes", () => {
    // 259.2 million creates: 2,073.6 million rows written, of which 50 are included.
    expect(texts.month).toContain("| D1 rows written | 0 | 2,024 | 207,310 |");
    expect(texts.month).toContain("| KV writes | 8 | 1,291 | 129,595 |");
    expect(texts.month).toContain("| **together** | **13** | **3,521** | **358,494** |");
    expect(texts.month).toContain("| with `NONCES` not bound | 5 | 2,105 | 215,944 |");
  });

  it("of events are the sum of rows, queue, invocations and the rest", () => {
    expect(texts["event-rows"]).toContain("| one webhook | 3 | 3 | 2 | 8 |");
    expect(texts["event-rows"]).toContain("| each further webhook | 2 | 3 | 1 | 6 |");
    expect(texts["event-parts"]).toContain("| queue operations: three a message, at $0.40 a million | 1.20 |");
    expect(texts["million-events"]).toBe("$9.80");
  });

  it("of storage count homes by gigabytes and by the creates that one plans for a home, however many are measured", () => {
    expect([texts.planned, texts["sessions-in-a-home"], texts["free-creates"]]).toEqual([
      "150 creates/s",
      "23 million",
      "12,500",
    ]);
    expect(texts.storage).toContain("| 100 | 1 | 112 GB, 12, $80 a month | 1,362 GB, 137, $1,018 a month |");
    expect(texts.storage).toContain("| 10,000 | 67 | ");
    expect(numberTexts(measuring({ ...plain, "database.creates": 6_000 })).storage).toBe(texts.storage);
  });

  it("are not made where a database takes less than four times what one plans for it", () => {
    expect(() => numberTexts(measuring({ "database.creates": 600 }))).not.toThrow();
    expect(() => numberTexts(measuring({ "database.creates": 599 }))).toThrow(
      "one database takes less than 4 times the 150 creates/s that docs/scale.md advises",
    );
  });
});

it("a page without what is made has no number of it", () => {
  expect(withoutMade("a <!-- made: x -->1<!-- /made --> b\n<!-- made: y -->\n\n2\n<!-- /made -->\nc")).toBe(
    "a  b\n\nc",
  );
});
