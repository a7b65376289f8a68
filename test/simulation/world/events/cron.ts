import { pause } from "../people/day.ts";
import type { World } from "../world.ts";

const EVERY_MS = 300_000;

/** The cron trigger of wrangler.toml, every five minutes and now and then in between: the platform may run it late or twice. */
export async function runCron(world: World): Promise<void> {
  const chance = world.chance.fork();
  while (!world.closing) {
    await pause(world, chance, chance.happens(0.5) ? EVERY_MS : chance.between(0, EVERY_MS));
    if (world.closing) return;
    const runs = chance.happens(0.1) ? 2 : 1;
    await Promise.all(Array.from({ length: runs }, () => prune(world, chance.one(world.weather.edges))));
  }
}

async function prune(world: World, edge: string): Promise<void> {
  const call = world.newCall("cron", { method: "", path: "cron", headers: {}, body: "" }, edge);
  await world.cloud.cron(call);
  world.checker.pruning.checkDone(call);
}
