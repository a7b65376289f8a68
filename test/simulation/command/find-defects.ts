import type { Code } from "../bundle.ts";
import type { Defect } from "../planted-defect.ts";
import type { Violation } from "../run.ts";
import type { CommandParts, CommandRun } from "./main.ts";
import { countedWords, grouped } from "./report.ts";
import { BrokenRun, inThreads, type SeedThread } from "./threads.ts";

/** How many of the slowest defects are named at the end. */
const SLOWEST = 5;

interface FoundDefect {
  seed: number;
  /** All steps, including those of earlier seeds. */
  steps: number;
  violation: Violation;
}

/** The result of one defect: what found it, or why it was not found. */
interface TriedDefect {
  name: string;
  result: FoundDefect | string;
  /** Seconds of real time. */
  seconds: number;
}

/** Runs a seed without a defect. @returns the rule that it breaks, if any */
type RunCleanly = (thread: SeedThread, seed: number, steps: number) => Promise<string | undefined>;

/**
 * Plants each defect in its own bundle and reports which rule finds it. Only one thread works on a defect, because one
 * of the first seeds finds most defects. Except for the seconds, the output does not depend on the number of threads.
 *
 * @returns whether a defect was not found
 */
export async function findDefects(command: CommandRun, parts: CommandParts): Promise<boolean> {
  const { stop, threads } = command;
  const defects = parts.defects.filter(({ name }) => command.defects?.includes(name));
  const widest = Math.max(6, ...defects.map(({ name }) => name.length));
  const row = (name: string, steps: string, seed: string, rest: string) =>
    console.log(`${name.padEnd(widest)}  ${steps.padStart(9)}  ${seed.padStart(10)}  ${rest}`);
  const start = performance.now();
  const secondsSince = (begin: number) => (performance.now() - begin) / 1000;
  const clean = cleanRuns(await parts.bundle());
  const results: TriedDefect[] = [];
  let shownCount = 0;

  row("defect", "steps", "seed", "found by");
  await inThreads(
    defects,
    { threads, program: { runModule: parts.runModule }, stop },
    async (thread, defect, place) => {
      const begin = performance.now();
      const result = await find(thread, defect, command, parts, clean);
      results[place] = { name: defect.name, result, seconds: secondsSince(begin) };
      // Results are printed in the order of the defects, each as soon as all earlier results are known.
      for (let next = results[shownCount]; next !== undefined; next = results[++shownCount]) {
        if (typeof next.result === "string") row(next.name, "-", "-", next.result);
        else row(next.name, grouped(next.result.steps), String(next.result.seed), next.result.violation.rule);
      }
    },
  );

  const shownResults = results.slice(0, shownCount);
  const misses = shownResults.filter(({ result }) => typeof result === "string");
  const slowest = shownResults.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  console.log(`\n${shownCount - misses.length} of ${countedWords(defects.length, "defect")} found.`);
  console.log(`Slowest: ${slowest.map(({ name, seconds }) => `${name} ${seconds.toFixed(0)} s`).join(", ")}`);
  console.log(`All of it: ${secondsSince(start).toFixed(0)} s`);
  if (misses.length > 0) console.log(`Not found: ${misses.map(({ name }) => name).join(", ")}`);
  return misses.length > 0 && !stop.aborted;
}

/**
 * Runs seeds without a defect, each only once. A seed that breaks a promise even then proves nothing about a defect.
 */
function cleanRuns(code: Code): RunCleanly {
  const rules = new Map<string, Promise<string | undefined>>();
  return (thread, seed, steps) => {
    const run = `${seed} ${steps}`;
    const rule = rules.get(run) ?? thread.run(code, { seed, steps }).then(({ violation }) => violation?.rule);
    rules.set(run, rule);
    return rule;
  };
}

/**
 * @returns what found the defect, or why it was not found
 * @throws Stopped
 */
async function find(
  thread: SeedThread,
  { what, edits }: Defect,
  command: CommandRun,
  { bundle }: CommandParts,
  clean: RunCleanly,
): Promise<FoundDefect | string> {
  let code: Code;
  try {
    code = await bundle(edits);
  } catch (error) {
    return `NOT PLANTED: ${(error as Error).message}`;
  }
  const { steps } = command;
  const before = { seeds: 0, steps: 0 };
  try {
    for (const seed of command.seeds()) {
      const { violation, steps: stepCount } = await thread.run(code, { seed, steps, trace: command.trace });
      if (violation !== undefined) {
        // An error of the simulation itself says nothing about the promises.
        if (violation.rule === "the simulation itself works") return `NOT FOUND: seed ${seed}: ${violation.what}`;
        const rule = await clean(thread, seed, steps);
        if (rule !== undefined) return `NOT FOUND: seed ${seed} breaks a promise without it: ${rule}`;
        return { seed, steps: before.steps + violation.step, violation };
      }
      before.seeds++;
      before.steps += stepCount;
    }
  } catch (error) {
    if (error instanceof BrokenRun) return `NOT FOUND: ${error.message.split("\n")[0]}`;
    throw error;
  }
  return `NOT FOUND in ${countedWords(before.seeds, "seed")}, ${grouped(before.steps)} steps: ${what}`;
}
