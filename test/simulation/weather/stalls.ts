import type { Chance } from "../machine/chance.ts";
import type { Home } from "../world/cloud/home.ts";
import { pause } from "../world/day.ts";
import type { World } from "../world/world.ts";

/** Share of seeds in which homes stall. */
const STALLING = 0.16;
/** How long a home stalls, in milliseconds: at least a number between the first two, at most the third. */
const STALL_MS = [30_000, 60_000, 80_000] as const;
/** Milliseconds between two checks whether a new call waits. */
const LOOK_AGAIN_MS = 100;
/** About as long as the Worker waits for an answer of D1. */
const TRY_MS = 3_000;
/** Share of stalls that hit all homes at the same time. */
const TOGETHER = 0.3;

/** The mean milliseconds between two stalls; 0 in most seeds. */
export const drawStalls = (chance: Chance, isCalm: boolean): number =>
  chance.happens(STALLING) && !isCalm ? chance.between(4_000, 20_000) : 0;

/**
 * Lets the storage of homes hang, as public reports describe it for D1: no call is answered, then all waiting calls
 * fail at the same time, and the next call is served.
 */
export async function stallHomes(world: World): Promise<void> {
  const { stalls } = world.weather;
  if (stalls === 0) return;
  const chance = world.chance.fork();
  for (;;) {
    await pause(world, chance, chance.between(0, 2 * stalls));
    if (world.closing) return;
    const up = [...world.cloud.homes.values()].filter(({ state }) => state === "up");
    if (up.length === 0) continue;
    const homes = chance.happens(TOGETHER) ? up : [chance.one(up)];
    world.count("home stalls");
    for (const home of homes) {
      world.say(() => [undefined, `home ${home.name} stalls`]);
      home.state = "stalled";
    }
    await untilReset(world, chance, homes);
    // Another outage may have ended the stall already.
    for (const home of homes) if (home.state === "stalled") home.state = "up";
  }
}

/** Waits for the reset. It comes after a new call, if there is one, so that it hits calls whose next try is served. */
async function untilReset(world: World, chance: Chance, homes: readonly Home[]): Promise<void> {
  const [least, usual, most] = STALL_MS;
  const latest = world.scheduler.now + most - TRY_MS;
  const waiting = () => homes.reduce((sum, home) => sum + home.waiting.length, 0);
  await world.sleep(chance.between(least, usual));
  const before = waiting();
  while (waiting() === before && world.scheduler.now < latest) await world.sleep(LOOK_AGAIN_MS);
  await world.sleep(chance.between(0, TRY_MS));
}
