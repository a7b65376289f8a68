import { pause } from "../people/day.ts";
import { Operator } from "../people/operator.ts";
import type { World } from "../world.ts";

/**
 * Makes the directory silent while the change of a site is in its home but not yet copied to the directory. Another
 * operator changes the site then, so the later copy arrives first.
 */
export async function holdUpCopies(world: World): Promise<void> {
  const chance = world.chance.fork();
  const [first, second] = [new Operator(world), new Operator(world)];
  const directory = world.cloud.home("main");
  while (!world.closing) {
    await pause(world, chance, chance.between(3_000, 40_000));
    const sites = world.company.sitesAtWork;
    if (sites.length === 0 || world.closing) continue;
    const { siteId, chatIds } = chance.one(sites);
    const begin = chance.between(15, 50);
    const silence = chance.between(30, 1_500);
    const from = world.scheduler.now;
    world.count("copy of a change held up");
    world.scheduler.after(begin, () => {
      directory.state = "silent";
    });
    world.scheduler.after(begin + silence, () => {
      directory.state = "up";
    });
    const first_chat_id = Math.max(0, ...chatIds) + chance.integer(20, 60);
    const floorRaised = first.insist("PATCH", `/sites/${siteId}`, { first_chat_id });
    await world.sleep(from + begin + silence + chance.between(0, 300) - world.scheduler.now);
    await Promise.all([floorRaised, second.call("PATCH", `/sites/${siteId}`, { name: `Site ${siteId}, held up` })]);
  }
}
