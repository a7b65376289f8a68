import type { Bound } from "../../platform/database.ts";
import type { Home } from "../../world/cloud/home.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";

/** Share of new sessions whose customer asks for erasure at once. */
const ERASED_SHARE = 0.02;

/**
 * Erases customers' data with SQL, as the schema allows it. It does so soon after the session, when the Worker's second
 * try after a lost answer may come.
 */
export async function eraseByHand(world: World): Promise<void> {
  const chance = world.chance.fork();
  for (const home of world.cloud.homes.values()) {
    home.onSession = ({ site_id, id, customer_external_id }) => {
      if (!world.cloud.isRough || world.closing || !chance.happens(ERASED_SHARE)) return;
      const delay = chance.one([chance.between(0, 40), chance.between(0, 4_000)]);
      world.scheduler.after(delay, () => erase(world, home, Number(site_id), Number(id), String(customer_external_id)));
    };
  }
}

const run = (sql: string, ...values: Bound[]) => ({ sql, values });

function erase(world: World, home: Home, site: number, session: number, customer: string): void {
  world.say(() => [undefined, `erased by hand: session ${session} of site ${site} in ${home.name}`]);
  world.count("customer erased by hand");
  home.database.transaction([
    run(
      `UPDATE home_sites SET chat_id_floor = max(chat_id_floor, (SELECT coalesce(max(id), 0) FROM sessions WHERE site_id = ?))
        WHERE site_id = ?`,
      site,
      site,
    ),
    run(
      `UPDATE deliveries SET last_error = NULL WHERE site_id = ? AND last_error IS NOT NULL
        AND seq IN (SELECT seq FROM events WHERE site_id = ? AND session_id = ?)`,
      site,
      site,
      session,
    ),
    run("UPDATE events SET data = NULL WHERE site_id = ? AND session_id = ?", site, session),
    run("DELETE FROM messages WHERE site_id = ? AND session_id = ?", site, session),
    run("DELETE FROM participants WHERE site_id = ? AND session_id = ?", site, session),
    run("DELETE FROM sessions WHERE site_id = ? AND id = ?", site, session),
    run(
      `DELETE FROM customers WHERE site_id = ? AND external_id = ? AND NOT EXISTS
        (SELECT 1 FROM sessions WHERE sessions.site_id = customers.site_id AND customer_external_id = external_id)`,
      site,
      customer,
    ),
  ]);
}

/** Deletes a webhook once with SQL, but not its deliveries. The sweep and the pruning must find them. */
export async function deleteWebhookByHand(world: World): Promise<void> {
  const chance = world.chance.fork();
  await pause(world, chance, chance.between(5_000, 60_000));
  const webhooks = world.closing ? [] : world.company.sitesAtWork.flatMap((site) => site.webhooks);
  if (webhooks.length === 0) return;
  const { id, site } = chance.one(webhooks);
  world.say(() => [id, "is deleted by hand"]);
  world.count("webhook deleted by hand");
  const deletion = run("DELETE FROM webhooks WHERE site_id = ? AND id = ?", site.siteId, id);
  world.cloud.home(site.home).database.transaction([deletion]);
}
