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
      if (world.company.sites.length > 0) await this.#operator.call("GET", this.#path());
    }
  }

  #path(): string {
    const chance = this.#chance;
    const { siteId, chatIds, agentIds, apps } = chance.one(this.#world.company.sites);
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
    ]);
  }
}
