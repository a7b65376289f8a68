/**
 * `npm run bench` measures the Worker that `wrangler deploy` would upload, in workerd on this machine, and the Workers that it is
 * compared with. It writes docs/numbers.json. `npm run tables` then makes the pages from it.
 *
 *   npm run bench                          everything, in about six minutes
 *   npm run bench -- --only trips,size     prints some parts, and writes nothing
 *
 * Compared Workers take turns, each in several starts of workerd, because starts differ by a few percent. A number is the median of
 * the starts, with the lowest and the highest in brackets.
 */
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { readOptions } from "../../src/tools/cli/known-options.ts";
import {
  type BenchResult,
  goalText,
  isGoalMet,
  NUMBERS,
  type NumberName,
  shownResult,
} from "../../src/tools/docs/numbers.ts";
import type { BenchPart, ResultsOf } from "./bench-part.ts";
import { checkSides } from "./check-sides.ts";
import { measureCpu } from "./cpu.ts";
import { measureDatabase } from "./database.ts";
import { measureDistance } from "./distance.ts";
import { measureEvents } from "./events.ts";
import { measureModuleLoad } from "./module-load.ts";
import { buildProductionBundle, type ProductionBundle, ROOT } from "./production-bundle.ts";
import { countRows } from "./rows.ts";
import { measureSize } from "./size.ts";
import { closeAll } from "./start-worker.ts";
import { measureThroughput } from "./throughput.ts";
import { countTrips } from "./trips.ts";

/** The parts, in the order of NUMBERS, which describes their results. */
const PARTS: { [Name in BenchPart]: (bundle: ProductionBundle) => Promise<ResultsOf<Name>> } = {
  trips: countTrips,
  distance: measureDistance,
  database: measureDatabase,
  throughput: measureThroughput,
  cpu: measureCpu,
  rows: countRows,
  events: measureEvents,
  module: measureModuleLoad,
  size: measureSize,
};

const flags = readFlags();
const parts = (flags.only?.split(",") ?? Object.keys(PARTS)) as BenchPart[];
const unknown = parts.filter((part) => !(part in PARTS));
if (unknown.length > 0) {
  console.error(`--only knows ${Object.keys(PARTS).join(", ")}, not ${unknown.join(", ")}`);
  process.exit(2);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void closeAll().finally(() => process.exit(1)));
}

const [began, load] = [performance.now(), loadavg()[0] ?? 0];
const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`;
const results: Partial<Record<NumberName, BenchResult>> = {};
try {
  const bundle = buildProductionBundle();
  console.log(`${seconds()}: checking that all sides do the same work`);
  await checkSides(bundle);
  for (const part of parts) {
    console.log(`${seconds()}: ${part}`);
    for (const [name, result] of Object.entries(await PARTS[part](bundle)) as [NumberName, BenchResult][]) {
      results[name] = result;
      const goal = goalText(name);
      const goalNote = goal === "" ? "" : `, goal ${goal}${isGoalMet(name, result) ? "" : ": missed"}`;
      console.log(`  ${NUMBERS[name].what}: ${shownResult(name, result)}${goalNote}`);
    }
  }
} finally {
  await closeAll();
}
console.log(`${seconds()}: done`);

if (flags.only === undefined) {
  const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "long" }).format();
  const model = cpus()[0]?.model.replace(/ \d+-Core Processor.*/, "") ?? "an unknown processor";
  const measured = `${day}, ${cpus().length} cores of ${model}, load ${load.toFixed(1)} before the run`;
  const lines = (Object.keys(NUMBERS) as NumberName[]).map((name) => {
    const values = Object.entries(results[name] ?? {}).map(([key, value]) => `"${key}": ${value}`);
    return `    "${name}": { ${values.join(", ")} }`;
  });
  const text = `{\n  "measured": ${JSON.stringify(measured)},\n  "results": {\n${lines.join(",\n")}\n  }\n}\n`;
  writeFileSync(join(ROOT, "docs/numbers.json"), text);
  console.log("docs/numbers.json is written. npm run tables makes the pages from it.");
}

function readFlags(): { only?: string } {
  try {
    return readOptions("npm run bench -- --only trips", process.argv.slice(2), { only: { type: "string" } }).values;
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
