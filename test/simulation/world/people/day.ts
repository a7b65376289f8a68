import type { Chance } from "../../machine/chance.ts";
import type { World } from "../world.ts";

/** Share of pauses that end although it is quiet. */
const SLEEPLESS = 0.02;
/** In weeks of rests only few are up at the same time: their calls would be the whole run. */
const LIE_IN_MS = 20_000;

/** Waits, as everybody does between two things that he does: longer when it is quiet. */
export async function pause(world: World, chance: Chance, milliseconds: number): Promise<void> {
  await world.sleep(milliseconds);
  const left = () => world.company.quietUntil - world.scheduler.now;
  if (left() <= 0) return;
  if (chance.happens(SLEEPLESS)) return world.sleep(chance.number() * left());
  // Who gets up late in a run of weeks finds that all rest again.
  do await world.sleep(left() + chance.between(0, world.weather.weeks ? LIE_IN_MS : 1_000));
  while (world.weather.weeks && left() > 0);
}

/** Lets everybody rest for so long. */
export function beQuiet(world: World, milliseconds: number): void {
  world.company.quietUntil = Math.max(world.company.quietUntil, world.scheduler.now + milliseconds);
  world.say(() => [undefined, `quiet for ${Math.round(milliseconds / 1000)} s`]);
}

/** Lets everybody rest for so long, and waits. */
export async function rest(world: World, milliseconds: number): Promise<void> {
  beQuiet(world, milliseconds);
  await world.sleep(milliseconds);
}
