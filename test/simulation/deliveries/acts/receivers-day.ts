import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";

/** Receivers get well and unwell, each at its own times. */
export async function changeReceivers(world: World): Promise<void> {
  const chance = world.chance.fork();
  const { receivers } = world.weather;
  while (!world.closing) {
    const servers = [...world.cloud.internet.receivers.values()];
    await pause(world, chance, chance.between(0, (2 * receivers.change) / Math.max(1, servers.length)));
    if (world.closing) return;
    if (servers.length === 0) continue;
    const server = chance.one(servers);
    server.change(receivers.well);
    world.count(`receiver turns ${server.mood}`);
    world.say(() => [server.url, `is ${server.mood} from now on`]);
  }
}
