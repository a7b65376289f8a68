import type { Code } from "../bundle.ts";
import type { Defect } from "../defects.ts";
import type { RunResult, Violation } from "../run.ts";
import type { Command } from "./options.ts";
import type { Parts } from "./parts.ts";
import { counted, grouped } from "./report.ts";
import { runSeeds } from "./run-seeds.ts";
import { BrokenRun } from "./seed-thread.ts";
import type { WrittenFile } from "./written-file.ts";

/** How many of the slowest defects are named at the end. */
const SLOWEST = 5;

interface Found {
  seed: number;
  /** Including the steps of the seeds before it. */
  steps: number;
  violation: Violation;
}

/** The result of one defect: what found it, or why it was not found. */
interface Tried {
  name: string;
  came: Found | string;
  /** Seconds of real time. */
  seconds: number;
}

/**
 * Plants each defect in its own bundle and reports which rule finds it. Each thread works on one defect: most defects
 * are found in one of the first seeds, so a second thread on the same defect would run seeds for nothing. Only when there
 * are fewer defects than threads, a defect gets several threads. The output does not depend on that, except for the
 * seconds.
 *
 * @returns whether one was not found
 */
export async function findDefects(
  asked: Command,
  parts: Parts,
  trace: WrittenFile | undefined,
  stop: AbortSignal,
): Promise<boolean> {
  const defects = parts.defects.filter(({ name }) => asked.defects?.includes(name));
  const widest = Math.max(6, ...defects.map(({ name }) => name.length));
  const row = (name: string, steps: string, seed: string, rest: string) =>
    console.log(`${name.padEnd(widest)}  ${steps.padStart(9)}  ${seed.padStart(10)}  ${rest}`);
  const show = ({ name, came }: Tried) =>
    typeof came === "string"
      ? row(name, "-", "-", came)
      : row(name, grouped(came.steps), String(came.seed), came.violation.rule);

  const clean = new CleanRuns(parts, stop);
  const lanes = Math.min(asked.threads, defects.length);
  const each = { ...asked, threads: Math.floor(asked.threads / lanes) };
  const tried: Tried[] = [];
  let begun = 0;
  let shown = 0;
  const lane = async () => {
    while (!stop.aborted) {
      const place = begun++;
      const defect = defects[place];
      if (defect === undefined) return;
      const start = performance.now();
      const came = await find(defect, each, parts, trace, stop, clean);
      tried[place] = { name: defect.name, came, seconds: (performance.now() - start) / 1000 };
      // Results are printed in the order of the defects, each as soon as those before it are known.
      for (let next = tried[shown]; next !== undefined; next = tried[++shown]) show(next);
    }
  };
  row("defect", "steps", "seed", "found by");
  await Promise.all(Array.from({ length: lanes }, lane));
  return sumUp(tried.slice(0, shown), defects.length) && !stop.aborted;
}

function sumUp(tried: readonly Tried[], planted: number): boolean {
  const missed = tried.filter(({ came }) => typeof came === "string");
  console.log(`\n${tried.length - missed.length} of ${counted(planted, "defect")} found.`);
  const slowest = tried.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  if (tried.length > 1) {
    console.log(`Slowest: ${slowest.map(({ name, seconds }) => `${name} ${seconds.toFixed(0)} s`).join(", ")}`);
  }
  if (missed.length > 0) console.log(`Not found: ${missed.map(({ name }) => name).join(", ")}`);
  return missed.length > 0;
}

/** Runs of the code without a defect: a seed that breaks a promise even then proves nothing about a defect. */
class CleanRuns {
  readonly #parts: Parts;
  readonly #stop: AbortSignal;
  readonly #rules = new Map<string, Promise<string | undefined>>();
  #code: Promise<Code> | undefined;

  constructor(parts: Parts, stop: AbortSignal) {
    this.#parts = parts;
    this.#stop = stop;
  }

  /** Callers who ask for the same run at once share it. */
  ruleBrokenBy(seed: number, steps: number): Promise<string | undefined> {
    const run = `${seed} ${steps}`;
    const rule = this.#rules.get(run) ?? this.#run(seed, steps);
    this.#rules.set(run, rule);
    return rule;
  }

  async #run(seed: number, steps: number): Promise<string | undefined> {
    this.#code ??= this.#parts.bundle();
    const program = { code: await this.#code, runModule: this.#parts.runModule };
    let rule: string | undefined;
    await runSeeds(program, {
      seeds: [seed],
      steps,
      threads: 1,
      stop: this.#stop,
      mayStart: () => true,
      onResult: ({ violation }) => {
        rule = violation?.rule;
      },
    });
    return rule;
  }
}

/** @returns why it was not found, or what found it */
async function find(
  { what, edits, steps: least = 0 }: Defect,
  asked: Command,
  { bundle, runModule }: Parts,
  trace: WrittenFile | undefined,
  stop: AbortSignal,
  clean: CleanRuns,
): Promise<Found | string> {
  let code: Code;
  try {
    code = await bundle(edits);
  } catch (error) {
    return `NOT PLANTED: ${(error as Error).message}`;
  }
  const steps = Math.max(asked.steps, least);
  const ended: (RunResult | undefined)[] = [];
  const enough = new AbortController();
  let broken: BrokenRun | undefined;
  try {
    await runSeeds(
      { code, runModule },
      {
        ...asked,
        steps,
        seeds: asked.seeds(),
        ...(trace !== undefined && { trace: (line) => trace.write(line) }),
        stop: AbortSignal.any([stop, enough.signal]),
        mayStart: () => !ended.some((result) => result?.violation !== undefined),
        onResult(result, place) {
          ended[place] = result;
          // Seeds after the first one that found it do not matter. Earlier ones may still find it in fewer steps.
          if (firstOf(ended) !== undefined) enough.abort();
        },
      },
    );
  } catch (error) {
    if (!(error instanceof BrokenRun)) throw error;
    broken = error;
  }
  const found = firstOf(ended);
  if (found !== undefined) {
    const rule = await clean.ruleBrokenBy(found.seed, steps);
    return rule === undefined ? found : `NOT FOUND: seed ${found.seed} breaks a promise without it: ${rule}`;
  }
  if (broken !== undefined) return `NOT FOUND: ${broken.message.split("\n")[0]}`;
  if (stop.aborted) return "stopped";
  const taken = ended.reduce((sum, result) => sum + (result?.steps ?? 0), 0);
  return `NOT FOUND in ${counted(ended.length, "seed")}, ${grouped(taken)} steps: ${what}`;
}

/** The first seed that found it, once all seeds before it have ended. */
function firstOf(ended: readonly (RunResult | undefined)[]): Found | undefined {
  let before = 0;
  for (const result of ended) {
    if (result === undefined) return undefined;
    const { seed, steps, violation } = result;
    if (violation !== undefined) return { seed, steps: before + violation.step, violation };
    before += steps;
  }
  return undefined;
}
