import { Operator } from "../../operators/acts/operator.ts";
import type { RowChange } from "../../platform/database.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { WebhookKeeper } from "./operator-webhooks.ts";

/** Milliseconds in which a caller opens a session. */
const PATIENCE_MS = 8_000;

/** Turns a site's events off while deliveries are pending, and on again after a call was accepted. */
export async function silenceSites(world: World): Promise<void> {
  const operator = new Operator(world);
  const keeper = new WebhookKeeper(operator);
  const { chance } = operator;
  while (!world.closing) {
    await pause(world, chance, chance.between(500, 5_000));
    const sites = world.company.sitesAtWork.filter(({ webhooks }) => webhooks.length > 0);
    if (sites.length === 0 || world.closing) continue;
    const site = chance.one(sites);
    await keeper.sendAgain(chance.one(site.webhooks), "everything");
    await operator.setSite(site, { events: false });
    const { outbox } = world.checker.model.home(site.home);
    const isPending = [...outbox.deliveries.values()].some(
      (row) => row.site_id === site.siteId && row.status === "pending",
    );
    // One more webhook must not turn the site's events on again.
    if (chance.happens(0.7) && site.webhooks.length < 6) await keeper.add(site);
    const opens = ({ table, before, after }: RowChange) =>
      table === "sessions" && before === null && after?.site_id === site.siteId;
    const opening = await world.moments.when(
      (each) => (each.kind === "commits" && each.home.name === site.home && each.changes.some(opens)) || undefined,
      PATIENCE_MS,
    );
    if (opening) world.count(isPending ? "moment: a call in silence, deliveries pending" : "moment: a call in silence");
    await operator.setSite(site, { events: true });
  }
}
