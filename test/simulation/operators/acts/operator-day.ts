import { Caller } from "../../callers/acts/caller.ts";
import { actOnWebhooks, isWebhookAct } from "../../deliveries/acts/webhook-day.ts";
import type { KnownApp, KnownSite } from "../../world/company.ts";
import { pause } from "../../world/day.ts";
import type { Operator } from "./operator.ts";
import type { Act } from "./operator-acts.ts";

const MOST_SITES = 7;
const MOST_APPS = 4;

/** An operator's daily acts, alone and together with others. */
export class OperatorDay {
  readonly #operator: Operator;

  constructor(operator: Operator) {
    this.#operator = operator;
  }

  /** Acts until the world closes. */
  async work(): Promise<void> {
    const { world, chance, acts } = this.#operator;
    while (!world.closing) {
      await pause(world, chance, chance.between(500, 30_000));
      const sites = world.company.sitesAtWork;
      if (sites.length > 0) await this.#act(chance.one(sites), chance.weighted(acts));
    }
  }

  async #act(site: KnownSite, act: Act): Promise<void> {
    const operator = this.#operator;
    if (isWebhookAct(act)) return actOnWebhooks(operator, site, act);
    const { world, chance } = operator;
    world.count(`operator: ${act}`);
    const app = site.apps.length > 0 ? chance.one(site.apps) : undefined;
    const isInUse = app !== undefined && !app.isRevoked;
    const id = chance.one(site.agentIds);
    const overlap = chance.one([0, 0, 1, 5, 30, 600, 86_400, 604_800]);
    switch (act) {
      case "disableAgent":
        return operator.setAgent(site, id, { status: "disabled" });
      case "enableAgent":
        return operator.setAgent(site, id, { status: "normal" });
      case "addAgent":
        return operator.addAgent(site);
      case "rotate":
        return isInUse ? operator.rotate(app, overlap) : undefined;
      case "endOverlap":
        if (!isInUse) return;
        if (chance.happens(0.7)) await operator.rotate(app, chance.one([30, 600, 86_400]));
        return operator.endOverlap(app);
      case "revoke":
        if (app === undefined || site.apps.length === 1) return;
        await operator.revoke(app);
        return this.#hire(await operator.issueApp(site));
      case "rotateAndRevoke":
        if (!isInUse || site.apps.length === 1) return;
        await Promise.all([operator.rotate(app, 600), operator.revoke(app)]);
        return this.#hire(await operator.issueApp(site));
      case "issueApp":
        return site.apps.length < MOST_APPS ? this.#hire(await operator.issueApp(site)) : undefined;
      case "release":
        return this.#release(site);
      case "createSite":
        if (world.company.sites.length >= MOST_SITES) return;
        for (const each of (await operator.found(site.home))?.apps ?? []) this.#hire(each);
        return;
      case "siteTwice": {
        // Two operators make the same site at the same time, or sites that differ only in their first id.
        if (world.company.sites.length >= MOST_SITES) return;
        const newSite = { name: operator.newName("Twins"), home: site.home, first_chat_id: 1 };
        const another = { ...newSite, first_chat_id: chance.one([1, 900_220]) };
        await Promise.all([operator.createSite(newSite), operator.createSite(another)]);
        return;
      }
      case "raiseFirstChatId":
        return operator.setSite(site, { first_chat_id: Math.max(0, ...site.chatIds) + chance.one([0, 10, 900]) + 1 });
      case "closeSite":
        world.count("site closed");
        await operator.setSite(site, { status: "closed" });
        await world.sleep(chance.between(100, 30_000));
        return operator.setSite(site, { status: "open" });
    }
  }

  /** Releases an appid that is reserved without an app, or one that another operator is about to reserve. */
  async #release(site: KnownSite): Promise<void> {
    const operator = this.#operator;
    const { world, chance } = operator;
    const sites = world.company.sitesAtWork;
    const route = operator.reservedAppids.shift();
    if (route !== undefined) return operator.release(route, sites);
    for (let i = 0; i < 3; i++) {
      const route = { siteId: site.siteId, appid: `kept-${chance.uuid()}` };
      await Promise.all([
        operator.call("POST", `/sites/${site.siteId}/apps`, { name: "Shop", appid: route.appid }),
        operator.releaseSoon(route, sites),
      ]);
    }
  }

  /** Starts a caller for a new app. */
  #hire(app: KnownApp | undefined): void {
    const { world } = this.#operator;
    if (app !== undefined) world.start(() => new Caller(world, `of-${app.appid.slice(-8)}`, app).work());
  }
}
