import { setTimeout } from "node:timers/promises";
import { Chance } from "../machine/chance.ts";
import type { ProgramImage } from "../machine/program.ts";
import { Scheduler } from "../machine/scheduler.ts";
import type { RunOptions, RunResult } from "../run.ts";

/** Seeds with a known result, for the tests of the command. All other seeds end at a random step and break nothing. */
export const FAKE_SEEDS = {
  /** Breaks a promise at step 700. */
  late: 7,
  /** Breaks a promise at step 50. */
  early: 14,
  /** Ends with another violation when it is traced. */
  unlike: 21,
  /** Throws when it has more than 100 steps. */
  throws: 28,
  /** Throws in a promise that nobody awaits, when it has more than 100 steps. */
  throwsAside: 35,
  /** Reports its start on standard error, and never ends. */
  neverEnds: 42,
} as const;

export const FAKE_RULES = { late: "a late promise holds", early: "an early promise holds" } as const;

/** The exports of the fake bundle: which files the planted defects change. */
interface FakeProgram {
  changed: string[];
}

/** Replaces the real `run`, and simulates nothing. */
export async function run(image: ProgramImage, { seed, steps, trace }: RunOptions): Promise<RunResult> {
  const { changed } = image.startWorker(new Scheduler(), { now: () => 0 }, new Chance(1)) as unknown as FakeProgram;
  const chance = new Chance(seed);
  const seen: Record<string, number> = {};
  if (seed === FAKE_SEEDS.throws && steps > 100) throw new Error("thrown by the fake");
  if (seed === FAKE_SEEDS.throwsAside && steps > 100) void Promise.reject(new Error("thrown aside by the fake"));
  if (seed === FAKE_SEEDS.neverEnds) console.error("never ends");
  await setTimeout(seed === FAKE_SEEDS.neverEnds ? 3_600_000 : 5);
  const breaksAt: [rule: "late" | "early", step: number][] = [];
  if (seed === FAKE_SEEDS.late) breaksAt.push(["late", 700]);
  if (seed === FAKE_SEEDS.early) breaksAt.push(["early", 50]);
  if (seed === FAKE_SEEDS.unlike && steps >= 50) breaksAt.push(["early", trace === undefined ? 50 : 51]);
  if (changed.includes("found-late") && seed === 3) breaksAt.push(["late", 80]);
  if (changed.includes("found-at-once")) breaksAt.push(["early", 10]);
  const [firstBreak] = breaksAt.filter(([, step]) => step <= steps + 2).sort(([, a], [, b]) => a - b);
  const [rule, step] = firstBreak ?? [];
  for (let at = 1; at <= Math.min(steps, step ?? steps); at++) {
    const kind = chance.weighted({ "honest 200": 8, "honest cut off": 2, "isolate killed": 1 });
    seen[kind] = (seen[kind] ?? 0) + 1;
    trace?.(`${at} call-${at % 40} ${kind}`);
  }
  const violation = rule && step && { rule: FAKE_RULES[rule], what: `it did not at ${step}`, step, about: ["call-3"] };
  return { seed, steps: step ?? steps + 2, elapsed: steps * 1000.5, violation: violation || undefined, seen };
}
