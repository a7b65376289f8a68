import { Caller } from "../../callers/acts/caller.ts";
import { Operator } from "../../operators/acts/operator.ts";
import type { KnownSite } from "../../world/company.ts";
import { PRUNE_CRON, triggerCron } from "../../world/cron.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { keepCall, nthWrite, within } from "./kept-calls.ts";
import { lengthenWhilePruned, stopWhilePruned } from "./late-prunes.ts";

/** The acts of an owner who decides how long sites keep their sessions, and ends sites, by their weights. */
export const SITE_ACTS = { retain: 3, lengthenWhilePruned: 7, stopWhilePruned: 3, end: 7 };

/** No run ends more sites, nor the last one with apps: the callers of the others need them. */
const MOST_ENDS = 4;
/** How many sites there are at least. */
const LEAST_SITES = 2;
/** How often an owner closes a site again that somebody else has opened before its end began. */
const CLOSINGS = 4;
/** Where the end of a site is kept: its home decides, the directory learns it after KV, and its home notes that. */
const HALVES = [
  [1, "there"],
  [1, "back"],
  [1, "back"],
  [2, "there"],
  [2, "back"],
  [3, "there"],
  [3, "back"],
] as const;

/** Keeps and ends sites, until the world closes. */
export async function keepSites(world: World): Promise<void> {
  const keeper = new SiteKeeper(new Operator(world));
  const { chance } = keeper.operator;
  for (const site of world.company.sitesAtWork) {
    if (chance.happens(0.4)) await keeper.operator.setSite(site, { retention_days: chance.one([1, 2, 5]) });
  }
  if (chance.happens(0.5)) world.start(() => pruneOften(world));
  const longest = chance.one([1_000, 2_500, 6_000]);
  while (!world.closing) {
    await pause(world, chance, chance.between(500, longest));
    const sites = world.company.sitesAtWork;
    if (sites.length > 0 && !world.closing) await keeper.act(chance.one(sites), chance.weighted(SITE_ACTS));
  }
}

/** The cron job comes every few seconds, so that sessions go while their site is at work. */
async function pruneOften(world: World): Promise<void> {
  const chance = world.chance.fork();
  while (!world.closing) {
    await pause(world, chance, chance.between(3_000, 12_000));
    if (!world.closing) await triggerCron(world, PRUNE_CRON, chance.one(world.weather.edges));
  }
}

export class SiteKeeper {
  readonly operator: Operator;

  constructor(operator: Operator) {
    this.operator = operator;
  }

  async act(site: KnownSite, act: keyof typeof SITE_ACTS): Promise<void> {
    const { operator } = this;
    const { world, chance } = operator;
    world.count(`site keeper: ${act}`);
    if (act === "retain") return this.retain(site);
    if (act === "end") return this.end(site);
    // Sessions that are kept for ever at first are more than one batch later.
    await operator.setSite(site, { retention_days: null });
    await world.sleep(chance.between(5_000, 8_000));
    await operator.setSite(site, { retention_days: 1 });
    return act === "lengthenWhilePruned" ? lengthenWhilePruned(operator, site) : stopWhilePruned(operator, site);
  }

  async retain(site: KnownSite): Promise<void> {
    const { chance } = this.operator;
    await this.operator.setSite(site, { retention_days: chance.one([1, 1, 1, 2, 5, 30, null]) });
    await this.#letPrune();
  }

  /** Often the cron job comes soon: a run is short, and would end before its time. */
  async #letPrune(): Promise<void> {
    const { world, chance } = this.operator;
    for (let left = chance.integer(0, 3); left > 0 && !world.closing; left--) {
      await world.sleep(chance.between(0, 7_000));
      if (!world.closing) await triggerCron(world, PRUNE_CRON, chance.one(world.weather.edges));
    }
  }

  /** Closes a site and ends it, mostly in halves, sometimes twice at once. */
  async end(site: KnownSite): Promise<void> {
    const { operator } = this;
    const { world, chance } = operator;
    const { company } = world;
    if (company.sites.length <= LEAST_SITES || company.endedSites.length >= MOST_ENDS) return;
    const hasCallers = () => company.sites.some((other) => other !== site && other.apps.length > 0);
    for (let i = 0; i < CLOSINGS && company.sites.includes(site) && hasCallers() && !world.closing; i++) {
      // Now and then the owner forgets to close it.
      if (chance.happens(0.8)) await operator.setSite(site, { status: "closed" });
      await world.sleep(chance.between(0, 3_000));
      const name = await this.#look(site);
      if (name === undefined) return;
      if (chance.happens(0.8)) await this.#endHalf(site, name);
      await Promise.all(Array.from({ length: chance.integer(1, 2) }, () => this.#delete(site, name)));
    }
    if (company.sites.includes(site)) return;
    world.count("site ended");
    await this.#letPrune();
    if (chance.happens(0.3)) await this.#delete(site, "a name of before");
    for (const app of (await operator.found(site.home))?.apps ?? []) {
      world.start(() => new Caller(world, `of-${app.appid.slice(-8)}`, app).work());
    }
  }

  /** An end is kept at one of its writes. The cron job, a change of the site or other ends meet the half. */
  async #endHalf(site: KnownSite, name: string): Promise<void> {
    const { world, chance } = this.operator;
    const path = `/sites/${site.siteId}`;
    const other = new Operator(world);
    const end = () => other.call("DELETE", path, { name });
    const [nth, way] = chance.one<(typeof HALVES)[number]>(HALVES);
    const kept = await keepCall(world, nthWrite("DELETE", path, nth, way), end);
    if (kept === undefined) return;
    world.count("moment: the end of a site is kept at one of its writes");
    if (chance.happens(0.7)) world.cloud.cutOff(kept.call);
    const prune = () => within(world, triggerCron(world, PRUNE_CRON, chance.one(world.weather.edges)));
    if (chance.happens(0.8)) await prune();
    const change = chance.one([{ status: "open" }, { name: `${name}.` }, { retention_days: 1 }]);
    if (chance.happens(0.5)) await other.call("PATCH", path, change);
    if (chance.happens(0.3)) await Promise.all([end(), end()]);
    kept.letGo();
    await kept.sent;
    if (chance.happens(0.5)) await prune();
  }

  /** @returns the name of a site that is there */
  async #look({ siteId }: KnownSite): Promise<string | undefined> {
    const answer = await this.operator.insist("GET", `/sites/${siteId}`);
    if (answer?.status !== 200) return undefined;
    const { name, status } = JSON.parse(answer.body) as { name: string; status: string };
    return status === "open" || status === "closed" ? name : undefined;
  }

  async #delete(site: KnownSite, name: string): Promise<void> {
    const { company } = this.operator.world;
    const answer = await this.operator.insist("DELETE", `/sites/${site.siteId}`, { name });
    if (answer?.status !== 202 || !company.sites.includes(site)) return;
    company.sites.splice(company.sites.indexOf(site), 1);
    company.endedSites.push(site);
    for (const app of site.apps) app.revoked = true;
  }
}
