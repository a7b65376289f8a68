import { startAttackers } from "./callers/acts/attacker.ts";
import { Caller } from "./callers/acts/caller.ts";
import type { ProgramImage } from "./machine/program.ts";
import { onNotSimulated } from "./not-simulated.ts";
import { Operator } from "./operators/acts/operator.ts";
import { OperatorDay } from "./operators/acts/operator-day.ts";
import { calmTheWorld, endMs } from "./world/end.ts";
import { startEvents, watchRecords } from "./world/start-events.ts";
import { World } from "./world/world.ts";

export interface RunOptions {
  seed: number;
  /** The number of turns after which nobody begins anything new. Work in flight then ends without faults. */
  steps: number;
  /** Called with each line of the trace. It does not change the run. */
  trace?: ((line: string) => void) | undefined;
}

export interface Violation {
  /** The rule, as a sentence in the present tense: "each ranstr has at most one effect". */
  rule: string;
  /** What happened instead. */
  what: string;
  /** The turn after which the violation was found. */
  step: number;
  /** The names that relevant lines of the trace mention: calls, sites, apps. */
  about: string[];
}

export interface RunResult {
  seed: number;
  /** Turns taken, including those of the end. */
  steps: number;
  /** Virtual milliseconds. */
  elapsed: number;
  violation: Violation | undefined;
  /** How often each kind of thing happened: calls by answer, faults, acts of operators and attackers. */
  seen: Record<string, number>;
  /** The indexes of the watched places that have run; undefined when the thread watches none. */
  spots?: number[];
}

const MOST_END_STEPS = 1_000_000;

/** Runs one seed until a promise is broken or its steps are taken. */
export async function run(image: ProgramImage, { seed, steps, trace }: RunOptions): Promise<RunResult> {
  const world = new World(image, seed, trace);
  const { scheduler, checker } = world;
  onNotSimulated(({ stack }) => checker.violate("the simulation itself works", String(stack), []));
  world.start(() => startActors(world));
  while (scheduler.steps < steps && checker.violation === undefined && (await scheduler.step()));
  if (checker.violation === undefined) {
    calmTheWorld(world);
    const until = scheduler.now + endMs(world);
    const most = scheduler.steps + MOST_END_STEPS;
    while ((scheduler.nextAt ?? until) < until && checker.violation === undefined) {
      await scheduler.step();
      if (scheduler.steps > most) checker.violate("the simulation itself works", "it does not come to an end", []);
    }
  }
  if (checker.violation === undefined) {
    const { homes, nonces, credentials } = world.cloud;
    const { putLost } = world.weather.kv;
    // A restore of `main` needs receipts that only KV keeps, and KV may have lost them.
    const except = new Set([...world.company.underRestore, ...(putLost > 0 ? ["main"] : [])]);
    checker.search({ homes: [...homes.values()], kv: [nonces, credentials], except }, world.company.underRestore);
  }
  return { seed, steps: scheduler.steps, elapsed: scheduler.now, violation: checker.violation, seen: world.seen };
}

/** Makes the company's sites without faults, then starts all actors. */
async function startActors(world: World): Promise<void> {
  watchRecords(world);
  const operator = new Operator(world);
  for (const home of world.cloud.homes.keys()) await operator.found(home);
  await operator.found(world.chance.one([...world.cloud.homes.keys()]));
  world.cloud.isRough = true;
  const colleagues = Array.from({ length: world.chance.integer(0, 2) }, () => new Operator(world));
  for (const each of [operator, ...colleagues]) world.start(() => new OperatorDay(each).work());
  startEvents(world);
  startAttackers(world);
  for (const [i, app] of world.company.apps.entries()) {
    for (let n = world.chance.integer(1, 2); n > 0; n--) world.start(() => new Caller(world, `${i}${n}`, app).work());
  }
}
