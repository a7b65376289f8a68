import { Caller } from "./caller.ts";
import type { KnownApp, KnownSite } from "./company.ts";
import { pause } from "./day.ts";
import type { Operator } from "./operator.ts";
import type { Act } from "./operator-acts.ts";
import { touchClosedSite, touchDisabledAgent, touchOverlap } from "./unusual-states.ts";
import { actOnWebhooks, isWebhookAct } from "./webhook-day.ts";

const MOST_SITES = 7;
const MOST_APPS = 4;

/** The acts of two operators at the same time, by their weights. */
export const TWO_AT_ONCE = { rotate: 3, end: 2, overlap: 2, patch: 3, site: 3, contrary: 2, agent: 2 };

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
    const isInUse = app !== undefined && !app.revoked;
    const id = chance.one(site.agentIds);
    const overlap = chance.one([0, 0, 1, 5, 30, 600, 86_400, 604_800]);
    switch (act) {
      case "disableAgent":
        return operator.setAgent(site, id, { status: "disabled" });
      case "enableAgent":
        return operator.setAgent(site, id, { status: "normal" });
      case "renameAgent":
        return operator.setAgent(site, id, { name: `Agent ${chance.integer(1, 99)}` });
      case "touchDisabledAgent":
        return touchDisabledAgent(operator, site);
      case "addAgent":
        return operator.addAgent(site);
      case "rotate":
        return isInUse ? operator.rotate(app, overlap) : undefined;
      case "rotateTwice":
        if (!isInUse) return;
        await operator.rotate(app, overlap);
        return operator.rotate(app, chance.one([0, 5, 600]));
      case "endOverlap":
        if (!isInUse) return;
        if (chance.happens(0.7)) await operator.rotate(app, chance.one([30, 600, 86_400]));
        return operator.endOverlap(app);
      case "touchOverlap":
        return isInUse ? this.#touchOverlap(site, app) : undefined;
      case "revoke":
        if (app === undefined || site.apps.length === 1) return;
        await operator.revoke(app);
        return this.#hire(await operator.issueApp(site));
      case "issueApp":
        return site.apps.length < MOST_APPS ? this.#hire(await operator.issueApp(site)) : undefined;
      case "release": {
        const sites = world.company.sitesAtWork;
        const kept = operator.kept.shift();
        if (kept !== undefined) return operator.release(kept, sites);
        // One operator asks for the appid while another one releases it.
        for (let i = 0; i < 3; i++) {
          const asked = { siteId: site.siteId, appid: `kept-${chance.uuid()}` };
          await Promise.all([
            operator.call("POST", `/sites/${site.siteId}/apps`, { name: "Shop", appid: asked.appid }),
            operator.releaseSoon(asked, sites),
          ]);
        }
        return;
      }
      case "importTakenAppid": {
        const another = chance.one(world.company.sitesAtWork).siteId;
        if (app !== undefined)
          await operator.call("POST", `/sites/${another}/apps`, { name: "Shop", appid: app.appid });
        return;
      }
      case "createSite":
        if (world.company.sites.length >= MOST_SITES) return;
        for (const each of (await operator.found(site.home))?.apps ?? []) this.#hire(each);
        return;
      case "renameSite":
        return operator.setSite(site, { name: `Site ${site.siteId}.${chance.integer(1, 99)}` });
      case "raiseFirstChatId":
        return operator.setSite(site, { first_chat_id: Math.max(0, ...site.chatIds) + chance.one([0, 10, 900]) + 1 });
      case "closeSite":
        world.count("site closed");
        await operator.setSite(site, { status: "closed" });
        await world.sleep(chance.between(100, 30_000));
        return operator.setSite(site, { status: "open" });
      case "touchClosedSite":
        return touchClosedSite(operator, site);
      case "twoAtOnce":
        await this.#doTwo(site, isInUse ? app : undefined);
    }
  }

  /** Two operators do the same at the same time, or two acts on the same rows. */
  async #doTwo(site: KnownSite, app: KnownApp | undefined): Promise<void> {
    const operator = this.#operator;
    const { world, chance } = operator;
    const { siteId, home } = site;
    const sites = world.company.sites.length;
    const withoutApp = app === undefined ? { rotate: 0, end: 0, overlap: 0 } : {};
    const act = chance.weighted({ ...TWO_AT_ONCE, ...withoutApp, ...(sites < MOST_SITES ? {} : { site: 0 }) });
    world.count(`two at once: ${act}`);
    switch (act) {
      case "rotate":
        if (app !== undefined)
          await Promise.all([operator.rotate(app, 600), operator.rotate(app, chance.one([0, 600]))]);
        return;
      case "end":
        if (app !== undefined) await Promise.all([operator.rotate(app, 600), operator.revoke(app)]);
        return;
      case "overlap":
        if (app === undefined) return;
        await operator.rotate(app, 600);
        await Promise.all([
          operator.endOverlap(app),
          chance.happens(0.5) ? operator.rotate(app, 600) : operator.endOverlap(app),
        ]);
        return;
      case "patch": {
        const first_chat_id = Math.max(0, ...site.chatIds) + 40;
        const another = chance.one([{ first_chat_id: first_chat_id + 7 }, { name: `Site ${siteId}` }]);
        await Promise.all([operator.setSite(site, { first_chat_id }), operator.setSite(site, another)]);
        return;
      }
      case "contrary": {
        // The calls come one after the other, but the first may still be in flight when the second is sent.
        await Promise.all([
          operator.setSite(site, { status: "open", name: `Site ${siteId}` }),
          world.sleep(chance.between(0, 4_000)).then(() => operator.setSite(site, { status: "closed" })),
        ]);
        await operator.setSite(site, { name: `Site ${siteId}.${chance.integer(1, 99)}` });
        return operator.setSite(site, { status: "open" });
      }
      case "site": {
        const asked = { name: operator.newName("Twins"), home, first_chat_id: 1 };
        const another = { ...asked, first_chat_id: chance.one([1, 900_220]) };
        await Promise.all([operator.createSite(asked), operator.createSite(another)]);
        return;
      }
      case "agent": {
        // The second call is sent after the first was answered, or while the first may still be in flight.
        const change = async (each: number) => {
          const first = operator.setAgent(site, each, { status: chance.one(["normal", "disabled"]) });
          await world.sleep(chance.between(0, 12_000));
          await Promise.all([first, operator.setAgent(site, each, { name: "Li Na" })]);
          await operator.setAgent(site, each, { status: "normal" });
        };
        await Promise.all(site.agentIds.map(change));
      }
    }
  }

  async #touchOverlap(site: KnownSite, app: KnownApp): Promise<void> {
    const operator = this.#operator;
    await touchOverlap(operator, site, app);
    if (app.revoked) this.#hire(await operator.issueApp(site));
  }

  /** Starts a caller for a new app. */
  #hire(app: KnownApp | undefined): void {
    const { world } = this.#operator;
    if (app !== undefined) world.start(() => new Caller(world, `of-${app.appid.slice(-8)}`, app).work());
  }
}
