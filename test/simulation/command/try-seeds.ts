import type { Code } from "../bundle.ts";
import type { Report } from "../gates/gate.ts";
import type { Violation } from "../run.ts";
import type { CommandParts, CommandRun, Write } from "./main.ts";
import { countedWords, grouped, inColumns, LastLines, shortened, Totals } from "./report.ts";
import { inThreads, SeedThread } from "./threads.ts";

interface Failure {
  place: number;
  seed: number;
  violation: Violation;
}

const LONGEST_REASON = 2000;

const NOT_THE_SAME =
  "The same seed with the same steps ended in another way just before: the simulation is not deterministic. Mend that first.";

/**
 * Runs seeds with the code without defects, and prints a report.
 *
 * @returns whether a promise was broken
 * @throws BrokenRun when the simulation of a seed throws, after the report of the other seeds
 */
export async function trySeeds(command: CommandRun, parts: CommandParts, report: Write | undefined): Promise<boolean> {
  const { stop, threads, steps, trace } = command;
  const places = report === undefined ? undefined : (await import("../gates/rules.ts")).readRules();
  const program = { runModule: parts.runModule, spots: places };
  const code = await parts.bundle();
  const totals = new Totals();
  const spots = new Set<number>();
  const failures: Failure[] = [];
  const start = performance.now();
  const secondsSince = () => (performance.now() - start) / 1000;
  function* inTime() {
    for (const seed of command.seeds()) {
      if (command.seconds !== undefined && secondsSince() >= command.seconds) return;
      yield seed;
    }
  }
  const runs = inThreads(inTime(), { threads, program, stop }, async (thread, seed, place) => {
    const result = await thread.run(code, { seed, steps, trace });
    totals.add(result);
    for (const spot of result.spots ?? []) spots.add(spot);
    if (result.violation !== undefined) failures.push({ place, seed, violation: result.violation });
  });
  const [outcome] = await Promise.allSettled([runs]);

  failures.sort((a, b) => a.place - b.place);
  const [first] = failures;
  const isWhole = outcome.status === "fulfilled" && !stop.aborted;
  const summary =
    first === undefined ? "no promise was broken" : `${countedWords(failures.length, "seed")} broke a promise`;
  console.log(
    isWhole
      ? `${command.seedWords(totals.seeds)} with ${countedWords(steps, "step")}: ${summary}.\n`
      : `Not all seeds have ended. Of ${countedWords(totals.seeds, "seed")} that have: ${summary}.\n`,
  );
  if (totals.seeds > 0) {
    console.log(totals.amounts(secondsSince(), Math.min(threads, totals.seeds)));
    console.log(`\nWhat was seen:\n${inColumns(totals.seen)}`);
  }
  if (places !== undefined) {
    const rules: Report["rules"] = Object.fromEntries(places.map(({ rule }) => [rule, false]));
    for (const spot of spots) rules[places[spot]?.rule ?? ""] = true;
    report?.(JSON.stringify({ seen: Object.fromEntries(totals.seen), rules } satisfies Report));
  }
  if (first !== undefined) {
    console.log();
    for (const { seed, violation } of failures) {
      console.log(`Seed ${seed} broke a promise at step ${grouped(violation.step)}: ${violation.rule}`);
    }
    if (!stop.aborted) await explain(new SeedThread(program, stop), code, first, steps);
  }
  if (outcome.status === "rejected") throw outcome.reason;
  return first !== undefined;
}

/**
 * Prints what happened instead of the promise, and the last lines of the trace about it.
 *
 * @throws Stopped
 */
async function explain(thread: SeedThread, code: Code, { seed, violation }: Failure, steps: number) {
  console.log(`\nWhat happened in seed ${seed}: ${shortened(violation.what, LONGEST_REASON)}\n`);
  try {
    const last = new LastLines(violation.about);
    const rerun = await thread.run(code, { seed, steps, trace: (line) => last.add(line) });
    console.log(`${last}`);
    if (JSON.stringify(rerun.violation) !== JSON.stringify(violation)) console.log(`\n${NOT_THE_SAME}`);
    console.log(`\nTo see all of it: npm run simulate -- --seed ${seed} --steps ${steps} --trace seed-${seed}.trace`);
  } finally {
    await thread.close();
  }
}
