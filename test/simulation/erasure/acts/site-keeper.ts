import { Caller } from "../../callers/acts/caller.ts";
import { Operator } from "../../operators/acts/operator.ts";
import type { KnownSite } from "../../world/company.ts";
import { PRUNE_CRON, triggerCron } from "../../world/cron.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { keepCall, nthWrite, waitBriefly } from "./kept-calls.ts";
import { lengthenWhilePruned, stopWhilePruned } from "./late-prunes.ts";

/** The acts of an owner who decides how long sites keep their sessions, and ends sites, with their weights. */
export const SITE_ACTS = { retain: 3, lengthenWhilePruned: 7, stopWhilePruned: 3, end: 7 };

/** The most sites that are ended in a run. */
const MOST_ENDS = 4;
/** No site is ended when only this many are left. */
const LEAST_SITES = 2;
/** How often an owner closes a site, when somebody else opens it again before its end begins. */
const CLOSINGS = 4;
/** The write at which the end of a site is held: 1 is in the home, 2 in the directory, 3 notes that in the home. */
const HELD_WRITES = [
  [1, "there"],
  [1, "back"],
  [1, "back"],
  [2, "there"],
  [2, "back"],
  [3, "there"],
  [3, "back"],
] as const;

/** Changes how long sites keep their sessions, and ends sites, until the world closes. */
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

/** Runs the cron job every few seconds, so that sessions are deleted while their site is in use. */
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
    // First the sessions are kept for ever, so that there are more of them than one batch deletes.
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

  /** Runs the cron job a few times soon. A run of the world may end before its regular time. */
  async #letPrune(): Promise<void> {
    const { world, chance } = this.operator;
    for (let timesLeft = chance.integer(0, 3); timesLeft > 0 && !world.closing; timesLeft--) {
      await world.sleep(chance.between(0, 7_000));
      if (!world.closing) await triggerCron(world, PRUNE_CRON, chance.one(world.weather.edges));
    }
  }

  /**
   * Closes a site and ends it. Mostly holds a first call and breaks it off. Sometimes two calls end the site at once.
   */
  async end(site: KnownSite): Promise<void> {
    const { operator } = this;
    const { world, chance } = operator;
    const { company } = world;
    if (company.sites.length <= LEAST_SITES || company.endedSites.length >= MOST_ENDS) return;
    const hasCallers = () => company.sites.some((other) => other !== site && other.apps.length > 0);
    for (let i = 0; i < CLOSINGS && company.sites.includes(site) && hasCallers() && !world.closing; i++) {
      // Sometimes the owner forgets to close the site.
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

  /**
   * Holds a call that ends a site at one of its writes. Meanwhile the cron job runs, or others change or end the site.
   */
  async #endHalf(site: KnownSite, name: string): Promise<void> {
    const { world, chance } = this.operator;
    const path = `/sites/${site.siteId}`;
    const other = new Operator(world);
    const end = () => other.call("DELETE", path, { name });
    const [nth, way] = chance.one<(typeof HELD_WRITES)[number]>(HELD_WRITES);
    const keptCall = await keepCall(world, nthWrite("DELETE", path, nth, way), end);
    if (keptCall === undefined) return;
    world.count("moment: the end of a site is kept at one of its writes");
    if (chance.happens(0.7)) world.cloud.cutOff(keptCall.call);
    const prune = () => waitBriefly(world, triggerCron(world, PRUNE_CRON, chance.one(world.weather.edges)));
    if (chance.happens(0.8)) await prune();
    const change = chance.one([{ status: "open" }, { name: `${name}.` }, { retention_days: 1 }]);
    if (chance.happens(0.5)) await other.call("PATCH", path, change);
    if (chance.happens(0.3)) await Promise.all([end(), end()]);
    keptCall.letGo();
    await keptCall.end;
    if (chance.happens(0.5)) await prune();
  }

  /** @returns the name of a site; undefined when it is missing or has ended */
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
    for (const app of site.apps) app.isRevoked = true;
  }
}
