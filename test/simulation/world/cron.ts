import { pause } from "./day.ts";
import type { World } from "./world.ts";

/** The crons of wrangler.toml. */
export const SWEEP_CRON = "* * * * *";
export const PRUNE_CRON = "*/5 * * * *";

/** Runs the cron triggers late, early or twice, as the platform may do. Skips some runs while the world is quiet. */
export function startCrons(world: World): void {
  world.start(() => runCron(world, SWEEP_CRON, 60_000));
  world.start(() => runCron(world, PRUNE_CRON, 300_000));
}

async function runCron(world: World, cron: string, everyMs: number): Promise<void> {
  const chance = world.chance.fork();
  while (!world.closing) {
    await pause(world, chance, chance.happens(0.5) ? everyMs : chance.between(0, everyMs));
    if (world.closing) return;
    const runs = chance.happens(0.1) ? 2 : 1;
    await Promise.all(Array.from({ length: runs }, () => triggerCron(world, cron, chance.one(world.weather.edges))));
  }
}

export async function triggerCron(world: World, cron: string, edge: string): Promise<void> {
  const call = world.newCall("cron", { method: "", path: cron, headers: {}, body: "" }, edge);
  await world.cloud.cron(call);
}
