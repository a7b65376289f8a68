import type { World } from "../world.ts";
import { pause } from "./day.ts";

/** A monitor asks now and then, from anywhere, whether the service is well. */
export async function monitor(world: World): Promise<void> {
  const chance = world.chance.fork();
  const wire = { method: "GET", path: "/healthz", headers: {}, body: "" };
  while (!world.closing) {
    await pause(world, chance, chance.between(500, 20_000));
    const edge = chance.one(world.weather.edges);
    // Several at once, as load balancers ask.
    for (let n = chance.integer(1, 3); n > 0; n--)
      world.start(async () => void (await world.send(world.newCall("monitor", wire, edge))));
  }
}
