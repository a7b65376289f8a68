import { PRUNE_CRON, triggerCron } from "../events/cron.ts";
import type { World } from "../world.ts";
import { Caller } from "./caller.ts";
import type { KnownSite } from "./company.ts";
import { pause } from "./day.ts";
import { Operator } from "./operator.ts";

/** The acts of an owner who decides how long sites keep their sessions, hands sites over and ends them, by their weights. */
export const SITE_ACTS = {
  retain: 6,
  keepLonger: 2,
  keepForEver: 1,
  changeWhilePruned: 2,
  look: 3,
  handOver: 3,
  end: 5,
  endTwiceAtOnce: 1,
  endByAnotherName: 3,
  endOpen: 1,
  endAgain: 2,
};

/** No run ends more sites, nor the last one with apps: the callers of the others need them. */
const MOST_ENDS = 3;
/** How many sites there are at least. */
const LEAST_SITES = 2;
/** How often an owner closes a site again that somebody else has opened before its end began. */
const CLOSINGS = 4;

/** Keeps, hands over and ends sites, until the world closes. */
export async function keepSites(world: World): Promise<void> {
  const keeper = new SiteKeeper(new Operator(world, "owner"));
  const { chance } = keeper.operator;
  for (const site of world.company.sitesAtWork) {
    if (chance.happens(0.4)) await keeper.operator.setSite(site, { retention_days: chance.one([1, 2, 5]) });
  }
  if (chance.happens(0.5)) world.start(() => pruneOften(world));
  while (!world.closing) {
    await pause(world, chance, chance.between(500, 9_000));
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
    switch (act) {
      case "retain":
        return this.retain(site);
      case "keepLonger":
        await operator.setSite(site, { retention_days: 1 });
        await world.sleep(chance.between(0, 20_000));
        return operator.setSite(site, { retention_days: chance.one([30, null]) });
      case "changeWhilePruned": {
        await operator.setSite(site, { retention_days: 1 });
        await world.sleep(chance.between(5_000, 9_000));
        const pruned = triggerCron(world, PRUNE_CRON, chance.one(world.weather.edges));
        await world.sleep(chance.between(0, chance.one([150, 600])));
        await Promise.all([pruned, operator.setSite(site, { retention_days: chance.one([null, 30]) })]);
        return;
      }
      case "keepForEver":
        return operator.setSite(site, { retention_days: null });
      case "look":
        return void (await this.#look(site));
      case "handOver":
        return this.#handOver(site);
      case "end":
        return this.end(site);
      case "endTwiceAtOnce":
        return this.end(site, 2);
      case "endByAnotherName":
        await operator.setSite(site, { status: "closed" });
        await this.#delete(site, `${(await this.#look(site)) ?? "Nobody"} `);
        await this.#delete(site, "Nobody's site");
        return operator.setSite(site, { status: "open" });
      case "endOpen": {
        const name = await this.#look(site);
        if (name !== undefined) await this.#delete(site, name);
        return;
      }
      case "endAgain": {
        const { endedSites } = world.company;
        if (endedSites.length > 0) await this.#delete(chance.one(endedSites), "a name of before");
      }
    }
  }

  async retain(site: KnownSite): Promise<void> {
    const { chance } = this.operator;
    await this.operator.setSite(site, { retention_days: chance.one([1, 1, 1, 2, 5, 30]) });
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

  /** Closes a site and ends it. @param calls how many operators ask for its end at the same time */
  async end(site: KnownSite, calls = 1): Promise<void> {
    const { operator } = this;
    const { world, chance } = operator;
    const { company } = world;
    if (company.sites.length <= LEAST_SITES || company.endedSites.length >= MOST_ENDS) return;
    const hasCallers = () => company.sites.some((other) => other !== site && other.apps.length > 0);
    for (let i = 0; i < CLOSINGS && company.sites.includes(site) && hasCallers() && !world.closing; i++) {
      await operator.setSite(site, { status: "closed" });
      await world.sleep(chance.between(0, 3_000));
      const name = await this.#look(site);
      if (name === undefined) return;
      await Promise.all(Array.from({ length: calls }, () => this.#delete(site, name)));
    }
    if (company.sites.includes(site)) return;
    world.count("site ended");
    await this.#letPrune();
    for (const app of (await operator.found(site.home))?.apps ?? []) {
      world.start(() => new Caller(world, `of-${app.appid.slice(-8)}`, app).work());
    }
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
    if (answer?.status !== 202) return;
    const { deletions = [] } = JSON.parse(answer.body) as { deletions?: object[] };
    for (const each of deletions) company.deletions.add(JSON.stringify(each));
    if (!company.sites.includes(site)) return;
    company.sites.splice(company.sites.indexOf(site), 1);
    company.endedSites.push(site);
    for (const app of site.apps) app.revoked = true;
  }

  async #handOver({ siteId }: KnownSite): Promise<void> {
    const { chance } = this.operator;
    const limit = chance.one([1, 3, 20, 500]);
    let after: string | null = null;
    for (let parts = 0; parts < 6; parts++) {
      const place = after === null ? "" : `&after=${after}`;
      const answer = await this.operator.insist("GET", `/sites/${siteId}/export?limit=${limit}${place}`);
      if (answer?.status !== 200) return;
      const last = answer.body.trimEnd().split("\n").at(-1) ?? "{}";
      after = (JSON.parse(last) as { next: string | null }).next;
      if (after === null) return;
      if (chance.happens(0.3)) await this.operator.world.sleep(chance.between(0, 4_000));
    }
  }
}
