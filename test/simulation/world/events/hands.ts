import type { Chance } from "../../machine/chance.ts";
import type { Bound } from "../../platform/database.ts";
import type { Home } from "../cloud/home.ts";
import type { KnownSite, KnownWebhook } from "../people/company.ts";
import { pause } from "../people/day.ts";
import type { World } from "../world.ts";

/** Share of new sessions whose customer asks for erasure at once. */
const REGRETS = 0.02;

/**
 * Erases customers' data with SQL, as the schema allows it. The erasure comes soon after the session, because the
 * Worker's second try after a lost answer comes then.
 */
export async function eraseByHand(world: World): Promise<void> {
  const chance = world.chance.fork();
  for (const home of world.cloud.homes.values()) {
    home.onSession = ({ site_id, id, customer_external_id }) => {
      if (!world.cloud.rough || world.closing || !chance.happens(REGRETS)) return;
      const delay = chance.one([chance.between(0, 40), chance.between(0, 4_000)]);
      world.scheduler.after(delay, () => erase(world, home, Number(site_id), Number(id), String(customer_external_id)));
    };
  }
}

const run = (sql: string, ...values: Bound[]) => ({ sql, values });

/**
 * SQL that erases a session's content from its events, and from the recorded answers of receivers. The events keep
 * their seqs.
 */
const eventsOf = (site: number, session: number) => [
  run(
    `UPDATE deliveries SET last_error = NULL WHERE site_id = ? AND last_error IS NOT NULL
      AND seq IN (SELECT seq FROM events WHERE site_id = ? AND session_id = ?)`,
    site,
    site,
    session,
  ),
  run("UPDATE events SET data = NULL WHERE site_id = ? AND session_id = ?", site, session),
];

function erase(world: World, home: Home, site: number, session: number, customer: string): void {
  world.say(() => [undefined, `erased by hand: session ${session} of site ${site} in ${home.name}`]);
  world.count("customer erased by hand");
  // Not everybody who erases a customer thinks of the events and of receivers' answers.
  const isThorough = world.chance.happens(0.6);
  home.database.transaction([
    run(
      `UPDATE home_sites SET chat_id_floor = max(chat_id_floor, (SELECT coalesce(max(id), 0) FROM sessions WHERE site_id = ?))
        WHERE site_id = ?`,
      site,
      site,
    ),
    ...(isThorough ? eventsOf(site, session) : []),
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

/**
 * Once, puts an app under another site of its home, which no operator should do. From then on nothing may be written
 * for the app into either site, because its secrets are sealed for the old site.
 */
export async function moveApp(world: World): Promise<void> {
  const chance = world.chance.fork();
  await pause(world, chance, chance.between(5_000, 120_000));
  const { company, cloud } = world;
  const { model } = world.checker;
  const isThere = ({ home, siteId }: KnownSite) => model.home(home).sites.has(siteId);
  const neighbourOf = (site: KnownSite) =>
    company.sites.find((each) => each !== site && each.home === site.home && isThere(each));
  const apps = company.sitesAtWork
    .filter((site) => neighbourOf(site) !== undefined)
    .flatMap((site) => site.apps.filter(({ revoked }) => !revoked));
  const app = apps.length > 0 ? chance.one(apps) : undefined;
  const target = app && neighbourOf(app.site);
  if (app === undefined || target === undefined || world.closing) return;
  world.say(() => [app.appid, `moved by hand from site ${app.site.siteId} to ${target.siteId}`]);
  world.count("app moved by hand");
  app.revoked = true;
  const values = [target.siteId, app.appid];
  model.moves(app.appid, { from: app.site.siteId, to: target.siteId });
  cloud.home(app.site.home).database.transaction([{ sql: "UPDATE apps SET site_id = ? WHERE appid = ?", values }]);
  if (chance.happens(0.5)) return;
  cloud.home("main").database.transaction([{ sql: "UPDATE app_routes SET site_id = ? WHERE appid = ?", values }]);
}

/** URLs that break the rules of where events may be posted. */
const BAD_URLS = ["http://hooks.example.com/in", "https://10.0.0.1/in", "https://hooks.internal/", "not a url"];

/**
 * Sometimes changes the URL of a webhook with SQL to a forbidden one. The operator's next change of the URL mends it.
 */
export async function spoilUrls(world: World): Promise<void> {
  const chance = world.chance.fork();
  while (!world.closing) {
    await pause(world, chance, chance.between(2_000, 30_000));
    const webhook = aWebhook(world, chance);
    if (webhook === undefined) continue;
    const { id, site } = webhook;
    const url = chance.one(BAD_URLS);
    world.say(() => [id, `has the URL ${url} by hand`]);
    world.count("URL of a webhook spoilt by hand");
    const values = [url, site.siteId, id];
    // With the revision, so that a change by the admin API that has read the row before begins anew.
    const sql = "UPDATE webhooks SET url = ?, revision = revision + 1 WHERE site_id = ? AND id = ?";
    world.cloud.home(site.home).database.transaction([{ sql, values }]);
  }
}

/** Once, deletes a webhook with SQL, without its deliveries. The sweep and the pruning must find them. */
export async function deleteWebhookByHand(world: World): Promise<void> {
  const chance = world.chance.fork();
  await pause(world, chance, chance.between(5_000, 60_000));
  const webhook = aWebhook(world, chance);
  if (webhook === undefined) return;
  const { id, site } = webhook;
  world.say(() => [id, "is deleted by hand"]);
  world.count("webhook deleted by hand");
  const values = [site.siteId, id];
  const sql = "DELETE FROM webhooks WHERE site_id = ? AND id = ?";
  world.cloud.home(site.home).database.transaction([{ sql, values }]);
}

/** A webhook of a site that is not under restore; undefined when there is none. */
function aWebhook({ company, closing }: World, chance: Chance): KnownWebhook | undefined {
  const webhooks = closing ? [] : company.sitesAtWork.flatMap((site) => site.webhooks);
  return webhooks.length > 0 ? chance.one(webhooks) : undefined;
}
