import type { World } from "../world.ts";
import type { KnownSite } from "./company.ts";
import { pause } from "./day.ts";
import { Operator } from "./operator.ts";

/** The acts of an owner who hands over and erases customers' data, by their weights. */
export const CUSTOMER_ACTS = {
  erase: 4,
  handOver: 2,
  eraseInPart: 2,
  twoAtOnce: 2,
  eraseAgain: 1,
  eraseUnknown: 1,
  eraseLate: 1,
};

/** How often an owner sends an erasure again, when it is answered with something left. */
const MOST_CALLS = 40;

interface Erased {
  remaining: number;
  receipts?: object[];
}

/** Hands over and erases customers' data, until the world closes. */
export async function keepCustomers(world: World): Promise<void> {
  const operator = new Operator(world);
  const keeper = new CustomerKeeper(operator);
  const { chance } = operator;
  while (!world.closing) {
    await pause(world, chance, chance.between(1_000, 20_000));
    const sites = world.company.sitesAtWork;
    if (sites.length > 0) await keeper.act(chance.one(sites), chance.weighted(CUSTOMER_ACTS));
  }
}

export class CustomerKeeper {
  readonly #operator: Operator;

  constructor(operator: Operator) {
    this.#operator = operator;
  }

  async act(site: KnownSite, act: keyof typeof CUSTOMER_ACTS): Promise<void> {
    const { world, chance } = this.#operator;
    world.count(`customer: ${act}`);
    const sbs = await this.#someCustomer(site);
    switch (act) {
      case "erase":
        return this.#erase(site, sbs);
      case "handOver":
        return this.#handOver(site, sbs);
      case "eraseInPart":
        // The rest waits, often for very long, or for ever.
        await this.#call(site, sbs);
        if (chance.happens(0.7)) return;
        await world.sleep(chance.between(1_000, 600_000));
        return this.#erase(site, sbs);
      case "twoAtOnce":
        await Promise.all([this.#erase(site, sbs), this.#erase(site, sbs)]);
        return;
      case "eraseAgain":
        await this.#erase(site, sbs);
        return this.#erase(site, sbs);
      case "eraseUnknown":
        await this.#call(site, `nobody ${chance.integer(1, 9)}`);
        return;
      case "eraseLate":
        // Receipts are older than half a day when the erasure goes on.
        await this.#call(site, sbs);
        if (world.weather.weeks) await world.sleep(86_400_000);
        return this.#erase(site, sbs);
    }
  }

  /** A customer of the newest sessions; by chance an integer, as callers may send it. */
  async #someCustomer({ siteId }: KnownSite): Promise<string | number> {
    const { chance } = this.#operator;
    const answer = await this.#operator.call("GET", `/sites/${siteId}/sessions?limit=100`);
    if (answer?.status !== 200) return `customer_${chance.integer(1, 6)}`;
    const { items } = JSON.parse(answer.body) as { items: { customer: { sbs: string } }[] };
    if (items.length === 0) return "nobody";
    const { sbs } = chance.one(items).customer;
    return /^(0|-?[1-9]\d{0,14})$/.test(sbs) && chance.happens(0.5) ? Number(sbs) : sbs;
  }

  /** @returns undefined unless it was answered 200 */
  async #call({ siteId }: KnownSite, sbs: string | number): Promise<Erased | undefined> {
    const { world } = this.#operator;
    const answer = await this.#operator.insist("POST", `/sites/${siteId}/customers/erase`, { sbs });
    if (answer?.status !== 200) return undefined;
    const erased = JSON.parse(answer.body) as Erased;
    for (const receipt of erased.receipts ?? []) world.company.receipts.add(JSON.stringify(receipt));
    world.count(erased.remaining === 0 ? "customer erased" : "customer erased in part");
    return erased;
  }

  async #erase(site: KnownSite, sbs: string | number): Promise<void> {
    for (let i = 0; i < MOST_CALLS && !this.#operator.world.closing; i++) {
      const erased = await this.#call(site, sbs);
      if (erased === undefined || erased.remaining === 0) return;
    }
  }

  async #handOver({ siteId }: KnownSite, sbs: string | number): Promise<void> {
    let cursor: string | null = null;
    do {
      const asked = cursor === null ? { sbs } : { sbs, cursor };
      const answer = await this.#operator.insist("POST", `/sites/${siteId}/customers/export`, asked);
      if (answer?.status !== 200) return;
      cursor = (JSON.parse(answer.body) as { next_cursor: string | null }).next_cursor;
    } while (cursor !== null);
  }
}
