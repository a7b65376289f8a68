import { Operator } from "../../operators/acts/operator.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";

/**
 * Raises the next id of a site, and erases the customer of its newest session before another session is opened. Then
 * only the floor says which ids were given or skipped.
 */
export async function raiseAndErase(world: World): Promise<void> {
  const operator = new Operator(world);
  const { chance } = operator;
  while (!world.closing) {
    await pause(world, chance, chance.between(2_000, 40_000));
    const sites = world.company.sitesAtWork;
    if (sites.length === 0 || world.closing) continue;
    const site = chance.one(sites);
    const first_chat_id = Math.max(0, ...site.chatIds) + chance.integer(5, 60);
    await operator.setSite(site, { status: "closed", first_chat_id });
    const sbs = newestCustomer(world, site.home, site.siteId);
    if (sbs !== undefined) {
      const path = `/sites/${site.siteId}/customers/erase`;
      const answer = await operator.insist("POST", path, { sbs });
      if (answer?.status === 200) world.count("moment: newest session erased below the floor");
    }
    await operator.setSite(site, { status: "open" });
  }
}

/** The caller's own id of the customer of a site's newest session. */
function newestCustomer({ cloud }: World, home: string, siteId: number): string | undefined {
  const { database } = cloud.home(home);
  const sessions = database.rows("sessions").filter((row) => row.site_id === siteId);
  const newest = sessions.toSorted((a, b) => Number(b.id) - Number(a.id))[0];
  return newest === undefined ? undefined : String(newest.customer_external_id);
}
