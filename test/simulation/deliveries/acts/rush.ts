import { Operator } from "../../operators/acts/operator.ts";
import type { KnownSite } from "../../world/company.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { WebhookKeeper } from "./operator-webhooks.ts";

/** The number of webhooks of the site whose deliveries could fill all places. */
const MANY = 4;
const MOST_SITES = 4;

/** Many sites of one home have many due deliveries at the same time. The receivers of one site hang. */
export async function rushOfCalls(world: World): Promise<void> {
  const operator = new Operator(world);
  const { chance } = operator;
  while (!world.closing) {
    await pause(world, chance, chance.between(50, 1_500));
    const homes = [...Map.groupBy(world.company.sitesAtWork, ({ home }) => home).values()];
    const sites = homes.find((group) => group.length > 1)?.slice(0, MOST_SITES);
    if (sites !== undefined && !world.closing) await rushOf(operator, chance.some(sites, 1));
  }
}

async function rushOf(operator: Operator, sites: KnownSite[]): Promise<void> {
  const { world, chance } = operator;
  const keeper = new WebhookKeeper(operator);
  const { receivers } = world.cloud.internet;
  const [big] = sites;
  const shortSites = sites.flatMap((site) =>
    Array(Math.max(0, (site === big ? MANY : 1) - site.webhooks.length)).fill(site),
  );
  await Promise.all(shortSites.map((site: KnownSite) => keeper.add(site)));
  for (const { url } of sites.flatMap(({ webhooks }) => webhooks)) receivers.get(url)?.change(1);
  const all = sites.flatMap(({ webhooks }) => webhooks);
  world.cloud.events.isHeld = true;
  await Promise.all(all.map((webhook) => keeper.sendAgain(webhook, "everything")));
  for (const { url } of big?.webhooks.slice(0, chance.integer(MANY - 1, MANY)) ?? []) receivers.get(url)?.hang();
  const { outbox } = world.checker.model.home(big?.home ?? "");
  const due = all.filter(({ id, site }) =>
    outbox.deliveriesOf({ site_id: site.siteId, id }).some(({ status }) => status === "pending"),
  );
  if (new Set(due.map(({ site }) => site)).size > 1) world.count("moment: several sites at once");
  world.cloud.events.comeTogether(due.map(({ id, site }) => ({ home: site.home, site: site.siteId, webhook: id })));
  world.cloud.events.isHeld = false;
  await world.sleep(chance.between(2_000, 16_000));
  for (const { url } of big?.webhooks ?? []) receivers.get(url)?.change(1);
}
