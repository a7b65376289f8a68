/**
 * `npm run bench` measures the Worker that `wrangler deploy` would upload, in workerd on this machine: trips,
 * geography, distance, load, capacity, the KV look, throughput, CPU, cost, events, fairness, backlog, retries, the journal,
 * erasing, retention, growth, usage, loading and size. Its peers are measured beside it in the same run. check-sides.ts first proves that the peers do the same work.
 *
 *   npm run bench                          tables, then one summary in Markdown, as it stands in the README
 *   npm run bench -- --only trips,size     some parts only
 *   npm run bench -- --markdown            the summary alone
 *   npm run bench -- --json                everything, for a machine
 *
 * The exit code is 1 when a count (trips, rows, bytes) misses its goal, when a measurement breaks, or after 20 minutes.
 * Ratios depend on the machine: they are reported beside their goals and never fail the run. Compared sides take turns,
 * so noise hits all of them alike. A ratio from a busy machine is still worth little.
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { measureBacklog } from "./backlog.ts";
import { measureCapacity } from "./capacity.ts";
import { checkSides } from "./check-sides.ts";
import { measureCost } from "./cost.ts";
import { measureCpu } from "./cpu.ts";
import { measureDistance } from "./distance.ts";
import { measureErase } from "./erase.ts";
import { measureEvents } from "./events.ts";
import { measureFairness } from "./fairness.ts";
import { measureGeography } from "./geography.ts";
import { measureGrowth } from "./growth.ts";
import { measureJournal } from "./journal.ts";
import { measureLook } from "./look.ts";
import type { Goal, Measure, Measurement, Table } from "./measurement.ts";
import { measureModuleLoad } from "./module-load.ts";
import { buildProductionBundle } from "./production-bundle.ts";
import { measureRetention } from "./retention.ts";
import { measureRetries } from "./retries.ts";
import { measureSize } from "./size.ts";
import { closeAll } from "./start-worker.ts";
import { measureThroughput } from "./throughput.ts";
import { measureTrips } from "./trips.ts";
import { measureUnderLoad } from "./under-load.ts";
import { measureUsage } from "./usage.ts";

const LIMIT_MS = 1_200_000;

const MEASURES: Record<string, Measure> = {
  trips: measureTrips,
  geography: measureGeography,
  distance: measureDistance,
  load: measureUnderLoad,
  capacity: measureCapacity,
  look: measureLook,
  throughput: measureThroughput,
  cpu: measureCpu,
  cost: measureCost,
  events: measureEvents,
  fairness: measureFairness,
  backlog: measureBacklog,
  retries: measureRetries,
  journal: measureJournal,
  erase: measureErase,
  retention: measureRetention,
  growth: measureGrowth,
  usage: measureUsage,
  module: measureModuleLoad,
  size: measureSize,
};

const { values: flags } = parseArgs({
  options: {
    json: { type: "boolean" },
    markdown: { type: "boolean" },
    only: { type: "string" },
    help: { type: "boolean" },
  },
});
if (flags.help === true) {
  console.log(`npm run bench -- [--only ${Object.keys(MEASURES).join(",")}] [--markdown] [--json]`);
  process.exit(0);
}
const wanted = flags.only?.split(",") ?? Object.keys(MEASURES);
for (const name of wanted) {
  if (MEASURES[name] !== undefined) continue;
  console.error(`--only knows ${Object.keys(MEASURES).join(", ")}, not ${name}`);
  process.exit(2);
}

const loadBefore = loadavg()[0] ?? 0;
const overtime = setTimeout(() => void stop(new Error(`not done after ${LIMIT_MS / 60_000} minutes`)), LIMIT_MS);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop(new Error(signal)));

const quiet = flags.json === true || flags.markdown === true;
const measured: Record<string, Measurement> = {};
try {
  const bundle = buildProductionBundle();
  process.stderr.write("checking that all sides do the same work …\n");
  await checkSides(bundle);
  for (const name of wanted) {
    process.stderr.write(`measuring ${name} …\n`);
    const measurement = await (MEASURES[name] as Measure)(bundle);
    measured[name] = measurement;
    if (!quiet) print(measurement);
  }
} catch (error) {
  await stop(error);
}
clearTimeout(overtime);

const goals = Object.values(measured).flatMap((measurement) => measurement.goals);
const failed = goals.some((goal) => goal.enforced && !goal.met);
const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown CPU"}, load ${loadBefore.toFixed(1)} before the run`;
if (flags.json === true) console.log(JSON.stringify({ machine, failed, measured }, null, 2));
else
  console.log(
    `${quiet ? "" : "## Summary\n\n"}${summary(goals)}\n\nMeasured on ${machine}. Ratios vary with the machine; counts do not.`,
  );
process.exitCode = failed ? 1 : 0;

async function stop(error: unknown): Promise<never> {
  console.error(error);
  await closeAll();
  process.exit(1);
}

function print({ title, tables, goals, notes }: Measurement): void {
  console.log(`## ${title}\n`);
  for (const table of tables) console.log(`${markdown(table)}\n`);
  for (const goal of goals)
    console.log(`${goal.met ? "met   " : "MISSED"} ${goal.what}: ${goal.result}, goal ${goal.goal}`);
  for (const note of notes) console.log(note);
  console.log();
}

function summary(all: Goal[]): string {
  const rows = all.map(({ what, goal, result, met }) => [what, goal, result, met ? "yes" : "**no**"]);
  return markdown({ head: ["measurement", "goal", "result", "met"], rows });
}

/** A Markdown table with aligned columns, which can also be read as plain text. */
function markdown({ head, rows }: Table): string {
  const lines = [head, head.map(() => "---"), ...rows.map((row) => row.map(String))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`)
    .join("\n");
}
