import type { Report } from "../gates/report.ts";
import type { Violation } from "../run.ts";
import { LastLines } from "./last-lines.ts";
import type { Command } from "./options.ts";
import type { Parts } from "./parts.ts";
import { amounts, command, counted, grouped, inColumns, lastLines, shortestRun } from "./report.ts";
import { runSeeds } from "./run-seeds.ts";
import { SeedThread } from "./seed-thread.ts";
import type { WorkerData } from "./seed-worker.ts";
import { shortestPrefix } from "./shortest-prefix.ts";
import { Totals } from "./totals.ts";
import type { WrittenFile } from "./written-file.ts";

interface Failure {
  place: number;
  seed: number;
  violation: Violation;
}

const NOT_THE_SAME =
  "The same seed with the same steps ended in another way just before: the simulation is not deterministic. Mend that first.";

/**
 * Runs the code without defects, and reports.
 *
 * @returns whether a promise was broken
 * @throws BrokenRun when the simulation of a seed throws, after the report of the other seeds
 */
export async function trySeeds(
  asked: Command,
  { bundle, runModule }: Parts,
  { trace, report }: { trace: WrittenFile | undefined; report: WrittenFile | undefined },
  stop: AbortSignal,
): Promise<boolean> {
  const places = report === undefined ? [] : (await import("../gates/rules.ts")).readRules();
  const program = { code: await bundle(), runModule, ...(report !== undefined && { spots: places }) };
  const totals = new Totals();
  const spots = new Set<number>();
  const failures: Failure[] = [];
  const start = performance.now();
  const secondsSince = () => (performance.now() - start) / 1000;
  const ran = runSeeds(program, {
    ...asked,
    seeds: asked.seeds(),
    stop,
    ...(trace !== undefined && { trace: (line) => trace.write(line) }),
    mayStart: () => asked.seconds === undefined || secondsSince() < asked.seconds,
    onResult(result, place) {
      totals.add(result);
      for (const spot of result.spots ?? []) spots.add(spot);
      if (result.violation !== undefined) failures.push({ place, seed: result.seed, violation: result.violation });
    },
  });
  const [outcome] = await Promise.allSettled([ran]);

  failures.sort((a, b) => a.place - b.place);
  const [first] = failures;
  if (outcome.status === "fulfilled" && !stop.aborted) {
    console.log(`${asked.named(totals.seeds)} with ${counted(asked.steps, "step")}: ${came(failures)}.\n`);
  } else {
    console.log(`Not all seeds have ended. Of ${counted(totals.seeds, "seed")} that have: ${came(failures)}.\n`);
  }
  if (totals.seeds > 0) {
    console.log(amounts(totals, secondsSince(), Math.min(asked.threads, totals.seeds)));
    console.log(`\nWhat was seen:\n${inColumns(totals.seen)}`);
  }
  report?.write(
    JSON.stringify({ seen: Object.fromEntries(totals.seen), rules: rulesAsked(places, spots) } satisfies Report),
  );
  if (first !== undefined) {
    console.log();
    for (const { seed, violation } of failures) {
      console.log(`Seed ${seed} broke a promise at step ${grouped(violation.step)}: ${violation.rule}`);
    }
    if (!stop.aborted) await explain(program, first, asked.steps, stop);
  }
  if (outcome.status === "rejected") throw outcome.reason;
  return first !== undefined;
}

/** For each rule, whether one of the places that ask it has run. */
function rulesAsked(places: readonly { rule: string }[], ran: ReadonlySet<number>): Record<string, boolean> {
  const asked = new Set(places.filter((_, i) => ran.has(i)).map(({ rule }) => rule));
  return Object.fromEntries(places.map(({ rule }) => [rule, asked.has(rule)]));
}

const came = ({ length }: readonly Failure[]) =>
  length === 0 ? "no promise was broken" : `${counted(length, "seed")} broke a promise`;

/**
 * Prints the shortest run that breaks the promise, and the last lines of its trace.
 *
 * @throws Stopped
 */
async function explain(program: WorkerData, { seed, violation }: Failure, given: number, stop: AbortSignal) {
  const thread = new SeedThread(program, stop);
  console.log(`\nLooking for the shortest run of seed ${seed} that breaks it …`);
  try {
    const prefix = await shortestPrefix({ steps: given, violation }, (steps) => thread.run({ seed, steps }));
    console.log(`${shortestRun(prefix)}\n`);
    const last = new LastLines(prefix.violation.about);
    const again = await thread.run({ seed, steps: prefix.steps, trace: (line) => last.add(line) });
    console.log(lastLines(last));
    if (JSON.stringify(again.violation) !== JSON.stringify(prefix.violation)) console.log(`\n${NOT_THE_SAME}`);
    console.log(`\nTo see all of it: ${command(seed, prefix.steps)}`);
  } finally {
    await thread.close();
  }
}
