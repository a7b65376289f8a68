import { WebhookKeeper } from "../../deliveries/acts/operator-webhooks.ts";
import { Operator } from "../../operators/acts/operator.ts";
import { rest } from "../../world/day.ts";
import type { World } from "../../world/world.ts";

const HOUR_MS = 3_600_000;

/**
 * Lets weeks pass: everybody works for seconds and then rests for hours. Work in flight goes on, and rows expire.
 * Sometimes an operator enables disabled webhooks, which the few acts of those seconds hardly ever meet.
 */
export async function letWeeksPass(world: World): Promise<void> {
  const chance = world.chance.fork();
  const keeper = new WebhookKeeper(new Operator(world));
  while (!world.closing) {
    await world.sleep(chance.between(1_000, 6_000));
    if (world.closing) return;
    if (chance.happens(0.3)) for (const site of world.company.sitesAtWork) await keeper.revive(site);
    world.count("all rest for hours");
    await rest(world, chance.between(6 * HOUR_MS, 20 * HOUR_MS));
  }
}
