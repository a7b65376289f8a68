import { rest } from "../../world/day.ts";
import type { World } from "../../world/world.ts";

const HOUR_MS = 3_600_000;

/** Lets weeks pass: everybody works for seconds and then rests for hours. Work in flight goes on, and rows expire. */
export async function letWeeksPass(world: World): Promise<void> {
  const chance = world.chance.fork();
  while (!world.closing) {
    await world.sleep(chance.between(1_000, 6_000));
    if (world.closing) return;
    world.count("all rest for hours");
    await rest(world, chance.between(6 * HOUR_MS, 20 * HOUR_MS));
  }
}
