import type { Code } from "../bundle.ts";
import type { Defect } from "../defects.ts";
import type { RunResult, Violation } from "../run.ts";
import type { Command } from "./options.ts";
import type { Parts } from "./parts.ts";
import { counted, grouped } from "./report.ts";
import { runSeeds } from "./run-seeds.ts";
import { BrokenRun } from "./seed-thread.ts";
import type { WrittenFile } from "./written-file.ts";

interface Found {
  seed: number;
  /** The seeds before this one included. */
  steps: number;
  violation: Violation;
}

/**
 * Plants one defect after the other and looks which rule finds it.
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

  const clean = new CleanRuns(parts, stop);
  row("defect", "steps", "seed", "found by");
  let found = 0;
  for (const defect of defects) {
    if (stop.aborted) break;
    const came = await find(defect, asked, parts, trace, stop, clean);
    if (typeof came === "string") {
      row(defect.name, "-", "-", came);
    } else {
      found++;
      row(defect.name, grouped(came.steps), String(came.seed), came.violation.rule);
    }
  }
  console.log(`\n${found} of ${counted(defects.length, "defect")} found.`);
  return !stop.aborted && found < defects.length;
}

/** What the code does as it is: a seed that breaks a promise anyway says nothing of a defect. */
class CleanRuns {
  readonly #parts: Parts;
  readonly #stop: AbortSignal;
  readonly #rules = new Map<string, string | undefined>();
  #code: Code | undefined;

  constructor(parts: Parts, stop: AbortSignal) {
    this.#parts = parts;
    this.#stop = stop;
  }

  async ruleBrokenBy(seed: number, steps: number): Promise<string | undefined> {
    const run = `${seed} ${steps}`;
    if (!this.#rules.has(run)) {
      this.#code ??= await this.#parts.bundle();
      await runSeeds(
        { code: this.#code, runModule: this.#parts.runModule },
        {
          seeds: [seed],
          steps,
          threads: 1,
          stop: this.#stop,
          mayStart: () => true,
          onResult: ({ violation }) => this.#rules.set(run, violation?.rule),
        },
      );
    }
    return this.#rules.get(run);
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
          // Seeds after the first one that found it do not matter; those before it may find it in fewer steps.
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
