import { setTimeout } from "node:timers/promises";
import { Chance } from "../machine/chance.ts";
import type { ProgramImage } from "../machine/program.ts";
import { Scheduler } from "../machine/scheduler.ts";
import type { RunOptions, RunResult } from "../run.ts";

/** Seeds with a known result, for the tests of the command. All other seeds end at random, and break nothing. */
export const FAKE_SEEDS = {
  /**
   * Breaks a promise at step 700, or at its end when it has fewer steps. With fewer than 300 steps it breaks nothing.
   */
  late: 7,
  /** Breaks a promise at step 50. */
  early: 14,
  /** Ends with another violation in its second run. */
  unlike: 21,
  /** Throws when it has more than 100 steps. */
  throws: 28,
  /** Throws in a promise that nobody awaits, when it has more than 100 steps. */
  throwsAside: 35,
  /** Reports its start on standard error, and never ends. */
  neverEnds: 42,
} as const;

export const FAKE_RULES = { late: "a late promise holds", early: "an early promise holds" } as const;

/** The exports of the fake bundle: the names of the files that defects change. */
export interface FakeProgram {
  changed: string[];
}

let runsOfUnlike = 0;

/** Has the type of the real `run` and simulates nothing. */
export async function run(image: ProgramImage, { seed, steps, trace }: RunOptions): Promise<RunResult> {
  const { changed } = image.startWorker(new Scheduler(), { now: () => 0 }, new Chance(1)) as unknown as FakeProgram;
  const chance = new Chance(seed);
  const seen: Record<string, number> = { "honest 200": 0, "honest cut off": 0, "isolate killed": 0 };
  const result = { seed, steps: steps + 2, elapsed: steps * 1000.5, violation: undefined, seen };
  const breaks = (rule: string, step: number): RunResult => ({
    ...result,
    steps: step,
    violation: { rule, what: `it did not at ${step}`, step, about: ["call-3"] },
  });
  if (seed === FAKE_SEEDS.throws && steps > 100) throw new Error("thrown by the fake");
  if (seed === FAKE_SEEDS.throwsAside && steps > 100) void Promise.reject(new Error("thrown aside by the fake"));
  if (seed === FAKE_SEEDS.neverEnds) {
    console.error("never ends");
    await setTimeout(3_600_000);
  }
  await setTimeout(5);
  for (let step = 1; step <= steps; step++) {
    const kind = chance.weighted({ "honest 200": 8, "honest cut off": 2, "isolate killed": 1 });
    seen[kind] = (seen[kind] ?? 0) + 1;
    trace?.(`${step} call-${step % 40} ${kind}`);
    if (seed === FAKE_SEEDS.early && step === 50) return breaks(FAKE_RULES.early, step);
    if (seed === FAKE_SEEDS.unlike && step === 50) return breaks(FAKE_RULES.early, step + runsOfUnlike++);
    if (seed === FAKE_SEEDS.late && step === 700) return breaks(FAKE_RULES.late, step);
    if (changed.includes("found-late") && seed === 3 && step === 80) return breaks(FAKE_RULES.late, step);
    if (changed.includes("found-at-once") && step === 10) return breaks(FAKE_RULES.early, step);
  }
  if (seed === FAKE_SEEDS.late && steps >= 300) return breaks(FAKE_RULES.late, steps + 2);
  return result;
}
