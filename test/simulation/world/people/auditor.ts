import type { Chance } from "../../machine/chance.ts";
import type { World } from "../world.ts";
import { pause } from "./day.ts";
import { Operator } from "./operator.ts";

/** Reads what is stored through the admin API; the checker compares each answer with what it knows. */
export class Auditor {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #operator: Operator;

  constructor(world: World) {
    this.#world = world;
    this.#chance = world.chance.fork();
    this.#operator = new Operator(world);
  }

  async work(): Promise<void> {
    const world = this.#world;
    const chance = this.#chance;
    while (!world.closing) {
      await pause(world, chance, chance.between(500, 15_000));
      if (world.company.sites.length > 0) await this.#act();
    }
  }

  async #act(): Promise<void> {
    const chance = this.#chance;
    if (this.#world.weather.events > 0 && chance.happens(0.2)) await this.#pull();
    else await this.#operator.call("GET", this.#path());
  }

  /** As a company does that would rather pull its events than be told of them. */
  async #pull(): Promise<void> {
    const site = this.#chance.one(this.#world.company.sites);
    const limit = this.#chance.one([1, 7, 100]);
    const answer = await this.#operator.call("GET", `/sites/${site.siteId}/events?after=${site.pulled}&limit=${limit}`);
    if (answer?.status !== 200) return;
    const { items } = JSON.parse(answer.body) as { items: { seq: number }[] };
    site.pulled = items.at(-1)?.seq ?? (this.#chance.happens(0.3) ? 0 : site.pulled);
  }

  #path(): string {
    const chance = this.#chance;
    const { siteId, chatIds, agentIds, apps, webhooks } = chance.one(this.#world.company.sites);
    const webhook = webhooks.length > 0 ? chance.one(webhooks).id : "wh_none";
    const site = `/sites/${siteId}`;
    const limit = chance.one(["", "?limit=1", "?limit=3", "?limit=100"]);
    return chance.one([
      `${site}/sessions/${chatIds.length > 0 ? chance.one(chatIds.slice(-8)) : 1}`,
      `${site}/sessions/${chatIds.length > 0 ? chance.one(chatIds) : 1}`,
      `${site}/sessions${limit}`,
      `${site}/sessions?status=${chance.one(["waiting", "replied"])}`,
      `${site}/sessions?sbs=customer_${chance.integer(1, 6)}&limit=100`,
      `${site}/sessions?cursor=${chatIds.length > 0 ? chance.one(chatIds) : 1}&limit=3`,
      `${site}/apps${limit}`,
      `${site}/agents${limit}`,
      `/sites${limit}`,
      `${site}/apps?cursor=${apps.length > 0 ? chance.one(apps).appid : "0"}&limit=3`,
      `${site}/agents?cursor=${chance.one(agentIds)}&limit=3`,
      `/sites?cursor=${siteId}&limit=3`,
      "/homes",
      `${site}/webhooks`,
      `${site}/webhooks/${webhook}/deliveries${limit}`,
      `${site}/webhooks/${webhook}/deliveries?status=${chance.one(["pending", "delivered", "failed"])}&limit=50`,
    ]);
  }
}
