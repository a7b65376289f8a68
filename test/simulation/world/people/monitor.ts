import type { World } from "../world.ts";
import { pause } from "./day.ts";

/** Calls /healthz at random times, from any location. */
export async function monitor(world: World): Promise<void> {
  const chance = world.chance.fork();
  const wire = { method: "GET", path: "/healthz", headers: {}, body: "" };
  while (!world.closing) {
    await pause(world, chance, chance.between(500, 20_000));
    const edge = chance.one(world.weather.edges);
    // Load balancers ask several times at once.
    for (let n = chance.integer(1, 3); n > 0; n--)
      world.start(async () => void (await world.send(world.newCall("monitor", wire, edge))));
  }
}
