import type { ProgramImage } from "./machine/program.ts";
import { startAttackers } from "./world/attacks/attacker.ts";
import { calm, endMs } from "./world/end.ts";
import { startEvents } from "./world/events/start-events.ts";
import { Caller } from "./world/people/caller.ts";
import { Operator } from "./world/people/operator.ts";
import { OperatorDay } from "./world/people/operator-day.ts";
import { World } from "./world/world.ts";

export interface RunOptions {
  seed: number;
  /** After so many turns of the scheduler nothing new begins: what is under way ends without faults. */
  steps: number;
  /** Gets each line of the trace. The run is the same with and without it. */
  trace?: ((line: string) => void) | undefined;
}

/** A promise that was broken. */
export interface Violation {
  /** The rule, as a sentence in the present tense: "each ranstr has at most one effect". */
  rule: string;
  /** What happened instead. */
  what: string;
  /** The turn after which it showed. */
  step: number;
  /** What the lines of the trace that matter have in common: names of calls, sites, apps. */
  about: string[];
}

export interface RunResult {
  seed: number;
  /** Turns taken, those of the end included. */
  steps: number;
  /** Virtual milliseconds. */
  elapsed: number;
  violation: Violation | undefined;
  /** How often each kind of thing happened: calls by answer, faults, what operators and attackers did. */
  seen: Record<string, number>;
  /** Which of the spots that its thread watches have run, by their index; undefined when it watches none. */
  spots?: number[];
}

const MOST_END_STEPS = 1_000_000;

/** Runs one seed until a promise is broken or its steps are taken. */
export async function run(image: ProgramImage, { seed, steps, trace }: RunOptions): Promise<RunResult> {
  const world = new World(image, seed, trace);
  const { scheduler, checker } = world;
  world.start(() => begin(world));
  while (scheduler.steps < steps && checker.violation === undefined && (await scheduler.step()));
  if (checker.violation === undefined) {
    calm(world);
    const until = scheduler.now + endMs(world);
    const most = scheduler.steps + MOST_END_STEPS;
    while ((scheduler.nextAt ?? until) < until && checker.violation === undefined) {
      await scheduler.step();
      if (scheduler.steps > most) checker.violate("the simulation itself works", "it does not come to an end", []);
    }
  }
  return { seed, steps: scheduler.steps, elapsed: scheduler.now, violation: checker.violation, seen: world.seen };
}

/** Founds the company in fine weather, then lets everybody work. */
async function begin(world: World): Promise<void> {
  const operator = new Operator(world);
  for (const home of world.cloud.homes.keys()) await operator.found(home);
  await operator.found(world.chance.one([...world.cloud.homes.keys()]));
  world.cloud.rough = true;
  const colleagues = Array.from({ length: world.chance.integer(0, 2) }, () => new Operator(world));
  for (const each of [operator, ...colleagues]) world.start(() => new OperatorDay(each).work());
  startEvents(world);
  startAttackers(world);
  for (const [i, app] of world.company.apps.entries()) {
    for (let n = world.chance.integer(1, 2); n > 0; n--) world.start(() => new Caller(world, `${i}${n}`, app).work());
  }
}
