import { wantEvents } from "../../deliveries/acts/webhook-day.ts";
import type { Chance } from "../../machine/chance.ts";
import type { Answer, Call } from "../../world/call.ts";
import { ADMIN_TOKEN } from "../../world/cloud/settings.ts";
import { type KnownApp, type KnownSite, LOST_SECRET } from "../../world/company.ts";
import type { World } from "../../world/world.ts";
import type { Body } from "../rules/intents.ts";
import { type Act, drawActs } from "./operator-acts.ts";
import { endOverlapAt, rotateAt } from "./rotations.ts";

/** The addresses from which operators call as the root. */
const ADDRESSES = ["192.0.2.1", "192.0.2.77", "192.0.3.1", "2001:db8:7:1::9"];

/** How often an operator repeats an unanswered call before giving up for now. */
const TRIES = 12;

type NewSite = Required<Pick<Body, "name" | "home" | "first_chat_id">>;

interface ListedApp {
  appid: string;
  version: string;
  revoked_at: number | null;
}

/** An operator: calls the admin API, and repeats unanswered calls. */
export class Operator {
  readonly world: World;
  readonly chance: Chance;
  /** The operator's own acts and their weights: see `operator-day.ts`. */
  readonly acts: Partial<Record<Act, number>>;
  readonly #address: string;
  /** The last call of this operator. */
  latest: Call | undefined;
  /** Sites whose creation got no answer. Repeating the call finishes them. */
  readonly #unfinishedSites: NewSite[] = [];
  /** The gate of its calls: what each of their queries to D1 waits for. See moments.ts. */
  gate: Call["gate"];
  /** Appids that stayed reserved for a site, because its home or the directory gave no answer. */
  readonly reservedAppids: { siteId: number; appid: string }[] = [];
  #nameCount = 0;

  constructor(world: World) {
    this.world = world;
    this.chance = world.chance.fork();
    this.#address = this.chance.one(ADDRESSES);
    this.acts = drawActs(this.chance, world.weather.events > 0);
  }

  /** One call of the admin API. @returns undefined when there was no answer */
  async call(method: string, path: string, body?: object): Promise<Answer | undefined> {
    const { world, chance } = this;
    const headers: Record<string, string> = {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      "cf-connecting-ip": this.#address,
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const wire = { method, path: `/admin${path}`, headers, body: body === undefined ? "" : JSON.stringify(body) };
    const call = world.newCall("operator", wire, chance.one(world.weather.edges));
    call.gate = this.gate;
    this.latest = call;
    const answer = await world.send(call);
    this.#noteKept(path, answer);
    return answer;
  }

  /**
   * Notes what an operator keeps from an answer: an appid that may be reserved without an app, and the receipts of
   * erasures and site ends where no KV is bound.
   */
  #noteKept(path: string, answer: Answer | undefined): void {
    if (answer?.status === 200 || answer?.status === 202) {
      const { company } = this.world;
      const body = answer.body.startsWith("{") ? JSON.parse(answer.body) : {};
      const { receipts, deletions } = body as Record<string, unknown>;
      if (Array.isArray(receipts)) for (const each of receipts) company.receipts.add(JSON.stringify(each));
      if (Array.isArray(deletions)) for (const each of deletions) company.deletions.add(JSON.stringify(each));
    }
    const [, siteId] = /^\/sites\/(\d+)\/apps$/.exec(path) ?? [];
    const [, appid] = /The appid ([\w-]+) (?:is|may be) kept for this site/.exec(answer?.body ?? "") ?? [];
    if (siteId !== undefined && appid !== undefined) this.reservedAppids.push({ siteId: Number(siteId), appid });
  }

  /** Repeats a call until its answer is definite. @returns undefined when no try got one */
  async insist(method: string, path: string, body?: object): Promise<Answer | undefined> {
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const answer = await this.call(method, path, body);
      if (answer !== undefined && answer.status < 500) return answer;
      await this.world.sleep(this.chance.between(500, 5_000));
    }
    return undefined;
  }

  /** Makes a site with agents and an app. */
  async found(home: string): Promise<KnownSite | undefined> {
    const name = this.newName("Site");
    const first_chat_id = this.chance.one([1, 1, 900_220]);
    return this.createSite(this.#unfinishedSites.pop() ?? { name, home, first_chat_id });
  }

  /** A name that this operator has not used yet. */
  newName(kind: string): string {
    return `${kind} ${++this.#nameCount}`;
  }

  async createSite(newSite: NewSite): Promise<KnownSite | undefined> {
    const createdSite = await this.insist("POST", "/sites", newSite);
    if (createdSite === undefined) this.#unfinishedSites.push(newSite);
    if (createdSite?.status !== 201) return undefined;
    const { id: siteId } = JSON.parse(createdSite.body) as { id: number };
    const site: KnownSite = {
      siteId,
      home: newSite.home,
      apps: [],
      agentIds: [],
      chatIds: [],
      webhooks: [],
      refusedSessions: new Map(),
    };
    this.world.company.sites.push(site);
    for (let i = 0; i < 4; i++) await this.addAgent(site);
    for (let i = this.chance.integer(1, 2); i > 0; i--) await this.issueApp(site);
    await wantEvents(this, site);
    return site;
  }

  async addAgent(site: KnownSite): Promise<void> {
    // All sites use the same ids of agents, so that a mix-up of sites shows.
    const id = 10_411 + site.agentIds.length;
    site.agentIds.push(id);
    await this.insist("POST", `/sites/${site.siteId}/agents`, { id, name: `Agent ${id}` });
  }

  async setAgent(site: KnownSite, id: number, change: { status: "normal" | "disabled" }): Promise<void> {
    await this.insist("PATCH", `/sites/${site.siteId}/agents/${id}`, change);
  }

  /** Issues an app, or imports an app whose appid or secret the company already has. */
  async issueApp(site: KnownSite, credentials = this.#drawImported()): Promise<KnownApp | undefined> {
    const answer = await this.insist("POST", `/sites/${site.siteId}/apps`, { name: "Shop", ...credentials });
    const app: KnownApp = { appid: credentials.appid ?? "", site, secrets: [], isRevoked: false };
    if (answer?.status === 409 && credentials.appid !== undefined) await this.#learn(app, credentials.secret);
    if (answer?.status === 201) {
      const { appid, secret, version } = JSON.parse(answer.body) as { appid: string; secret: string; version: string };
      app.appid = appid;
      app.secrets.push({ version, secret });
    }
    if (app.secrets.length === 0 || site.apps.some(({ appid }) => appid === app.appid)) return undefined;
    site.apps.push(app);
    return app;
  }

  #drawImported(): { appid?: string; secret?: string } {
    const chance = this.chance;
    return {
      ...(chance.happens(0.3) && { appid: `shop-${chance.uuid()}` }),
      ...(chance.happens(0.3) && { secret: `imported-${chance.uuid()}` }),
    };
  }

  /** Gives an app a new secret; the previous one stays valid for the overlap. */
  async rotate(app: KnownApp, overlap_seconds: number, ends?: string): Promise<void> {
    const careful = this.chance.happens(0.8) && { expected_version: app.secrets.at(-1)?.version };
    const answer = await rotateAt(this, `/apps/${app.appid}`, { overlap_seconds, ...careful }, ends);
    if (answer?.status !== 200) return this.#learn(app);
    const { secret, version } = JSON.parse(answer.body) as { secret: string; version: string };
    this.world.company.oldSecrets.push(...app.secrets.map((old) => ({ appid: app.appid, secret: old.secret })));
    app.secrets.push({ version, secret });
  }

  /** Ends the previous secret of an app before the end of its overlap. */
  async endOverlap(app: KnownApp): Promise<void> {
    await endOverlapAt(this, `/apps/${app.appid}`, app.secrets.at(-1)?.version);
  }

  /** Reads the stored version after a lost answer, because the next rotation must name it. */
  async #learn(app: KnownApp, secret = LOST_SECRET): Promise<void> {
    const item = (await this.listApps(app.site))?.find(({ appid }) => appid === app.appid);
    const isKnownSecret = app.secrets.some(({ version }) => version === item?.version);
    if (item !== undefined && !isKnownSecret) app.secrets.push({ version: item.version, secret });
  }

  async listApps(site: KnownSite): Promise<ListedApp[] | undefined> {
    const answer = await this.insist("GET", `/sites/${site.siteId}/apps?limit=100`);
    return answer?.status === 200 ? (JSON.parse(answer.body) as { items: ListedApp[] }).items : undefined;
  }

  async revoke(app: KnownApp): Promise<void> {
    const answer = await this.insist("DELETE", `/apps/${app.appid}`);
    if (answer?.status === 204) app.isRevoked = true;
  }

  /**
   * Releases an appid that is reserved for a site without an app. Sometimes others ask for the appid at the same
   * moment, for the same site or for another one.
   */
  async release({ siteId, appid }: { siteId: number; appid: string }, sites: KnownSite[]): Promise<void> {
    const { chance, world } = this;
    const others = chance.happens(0.5) ? [chance.one(sites), sites.find((each) => each.siteId === siteId)] : [];
    const asking = others.map(async (site) => {
      await world.sleep(chance.between(0, 300));
      if (site !== undefined) await this.call("POST", `/sites/${site.siteId}/apps`, { name: "Shop", appid });
    });
    const answer = await this.insist("DELETE", `/apps/${appid}`);
    await Promise.all(asking);
    if (answer?.status !== 204) return;
    world.count("appid released or revoked");
    // An earlier call may have made the app although its answer was lost.
    for (const app of sites.flatMap(({ apps }) => apps)) if (app.appid === appid) app.isRevoked = true;
  }

  /** Releases an appid as soon as it is reserved, by several quick calls while another operator issues it. */
  async releaseSoon(route: { siteId: number; appid: string }, sites: KnownSite[]): Promise<void> {
    const { chance, world } = this;
    for (let i = 0; i < 5; i++) {
      await world.sleep(chance.between(5, 40));
      const answer = await this.call("DELETE", `/apps/${route.appid}`);
      if (answer?.status === 204) return world.count("appid released or revoked");
    }
    return this.release(route, sites);
  }

  async setSite(site: KnownSite, change: Body) {
    await this.insist("PATCH", `/sites/${site.siteId}`, change);
  }
}
