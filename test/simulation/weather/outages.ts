import { pause } from "../world/day.ts";
import type { World } from "../world/world.ts";

/** Kills isolates at random times; cold ones take their place. */
export async function killIsolates(world: World): Promise<void> {
  const chance = world.chance.fork();
  const { isolateLife } = world.weather;
  while (isolateLife > 0) {
    await pause(world, chance, chance.between(0, 2 * isolateLife));
    if (world.closing) return;
    const { isolates } = world.cloud;
    if (isolates.length > 0) world.cloud.kill(chance.one(isolates.slice(-8)));
  }
}

/** The name of each outage, by the home's state during it. */
export const OUTAGES = {
  refusing: "home refuses",
  silent: "home is silent",
  slow: "home is slow",
  up: "home restarts",
};

/** Takes homes down for a while, makes them slow, or only restarts them. */
export async function takeHomesDown(world: World): Promise<void> {
  const chance = world.chance.fork();
  const { outages } = world.weather;
  while (outages > 0) {
    await pause(world, chance, chance.between(0, 2 * outages));
    if (world.closing) return;
    const all = [...world.cloud.homes.values()];
    const state = chance.one(["refusing", "silent", "slow", "up"] as const);
    // The cause of a slow home may make all homes slow.
    const homes = state === "slow" && chance.happens(0.5) ? all : [chance.one(all)];
    world.count(OUTAGES[state]);
    for (const home of homes) {
      world.say(() => [undefined, `home ${home.name}: ${OUTAGES[state]}, it is ${state}`]);
      if (state !== "slow") home.restart();
      home.state = state;
    }
    await world.sleep(chance.happens(0.3) ? chance.between(12_000, 40_000) : chance.between(100, 12_000));
    for (const home of homes) home.state = "up";
  }
}
