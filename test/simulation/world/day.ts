import type { Chance } from "../machine/chance.ts";
import type { World } from "./world.ts";

/** Share of waits that end although the world is quiet. */
const AWAKE_SHARE = 0.02;
/** Milliseconds over which callers start again in a run of weeks, because all at once would fill the run. */
const START_SPREAD_MS = 20_000;

/** Waits between two acts, and longer while the world is quiet. */
export async function pause(world: World, chance: Chance, milliseconds: number): Promise<void> {
  await world.sleep(milliseconds);
  const msLeft = () => world.company.quietUntil - world.scheduler.now;
  if (msLeft() <= 0) return;
  if (chance.happens(AWAKE_SHARE)) return world.sleep(chance.number() * msLeft());
  // In a run of weeks, the next rest may have begun when a waiting caller starts again.
  do await world.sleep(msLeft() + chance.between(0, world.weather.weeks ? START_SPREAD_MS : 1_000));
  while (world.weather.weeks && msLeft() > 0);
}

/** Lets everybody rest for this long. */
export function beQuiet(world: World, milliseconds: number): void {
  world.company.quietUntil = Math.max(world.company.quietUntil, world.scheduler.now + milliseconds);
  world.say(() => [undefined, `quiet for ${Math.round(milliseconds / 1000)} s`]);
}

/** Milliseconds of one rest of {@link inQuiet}. After each rest, everybody acts once. */
const REST_STEP_MS = 40_000;

/** Does long work while everybody else rests, so that it takes few turns. */
export async function inQuiet<Result>(world: World, work: () => Promise<Result>): Promise<Result> {
  let isOver = false;
  const keepQuiet = async () => {
    while (!isOver && !world.closing) await rest(world, REST_STEP_MS);
  };
  world.start(keepQuiet);
  const result = await work();
  isOver = true;
  return result;
}

/** Waits until everybody is awake, and a little longer. */
export const beAwake = (world: World, milliseconds: number): Promise<void> =>
  world.sleep(Math.max(0, world.company.quietUntil - world.scheduler.now) + milliseconds);

/** Lets everybody rest for this long, and waits. */
export async function rest(world: World, milliseconds: number): Promise<void> {
  beQuiet(world, milliseconds);
  await world.sleep(milliseconds);
}
