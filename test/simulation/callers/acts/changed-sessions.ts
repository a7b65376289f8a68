import { MODELS } from "../../operations/index.ts";
import { noteRefused } from "../../operations/shared/model.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";

/** Changes of a session with SQL after which an operation refuses it, by the name of the refusal. */
export const CHANGES = MODELS.flatMap(({ refusals }) =>
  Object.entries(refusals).flatMap(([name, { byHand }]) => (byHand === undefined ? [] : [{ name, sql: byHand }])),
);

/** Changes sessions with SQL to states that no call leaves, as another product on the same database may do. */
export async function changeSessions(world: World): Promise<void> {
  const chance = world.chance.fork();
  while (!world.closing && CHANGES.length > 0) {
    await pause(world, chance, chance.between(300, 4_000));
    const sites = world.company.sites.filter(({ chatIds }) => chatIds.length > 0);
    if (sites.length === 0 || world.closing) continue;
    const site = chance.one(sites);
    const { siteId, home, chatIds } = site;
    const { name, sql } = chance.one(CHANGES);
    const chatId = chance.one(chatIds);
    world.count(`session changed by hand: ${name}`);
    world.say(() => [undefined, `changed by hand: session ${chatId} of site ${siteId} in ${home}: ${name}`]);
    world.cloud.home(home).database.transaction([{ sql, values: [siteId, chatId] }]);
    noteRefused(site, name, chatId);
  }
}
