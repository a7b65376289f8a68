import type { Chance } from "../../machine/chance.ts";
import type { World } from "../world.ts";

/** Share of pauses that end although it is quiet. */
const SLEEPLESS = 0.02;

/** Waits, as everybody does between two things that he does: longer when it is quiet. */
export async function pause(world: World, chance: Chance, milliseconds: number): Promise<void> {
  await world.sleep(milliseconds);
  const left = world.company.quietUntil - world.scheduler.now;
  if (left > 0) await world.sleep(chance.happens(SLEEPLESS) ? chance.number() * left : left + chance.between(0, 1_000));
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
