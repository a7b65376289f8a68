import { SESSION_STATUSES } from "../../../../src/store/schema.ts";
import type { Chance } from "../../machine/chance.ts";
import { MODELS } from "../../operations/index.ts";
import type { Call } from "../call.ts";
import type { World } from "../world.ts";
import type { KnownSite } from "./company.ts";
import { pause } from "./day.ts";
import { Operator } from "./operator.ts";

/** How many of the newest captured calls the auditor looks through. */
const MOST_LOOKED = 60;

/** Reads the stored state through the admin API. The checker compares each answer with its model. */
export class Auditor {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #operator: Operator;

  constructor(world: World) {
    this.#world = world;
    this.#chance = world.chance.fork();
    this.#operator = new Operator(world, "viewer");
  }

  async work(): Promise<void> {
    const world = this.#world;
    const chance = this.#chance;
    while (!world.closing) {
      await pause(world, chance, chance.between(500, 10_000));
      if (world.company.sites.length > 0) await this.#act();
    }
  }

  async #act(): Promise<void> {
    const chance = this.#chance;
    if (this.#world.weather.events > 0 && chance.happens(0.2)) await this.#pull();
    else if (chance.happens(0.2)) await this.#readLog();
    else await this.#operator.call("GET", this.#read());
  }

  /** Pulls events, as a company does that has no webhook. */
  async #pull(): Promise<void> {
    const site = this.#world.company.anySite(this.#chance);
    const limit = this.#chance.one([1, 7, 100]);
    // Sometimes the place is beyond the last event, as it may be after a restore.
    const after = site.pulled + (this.#chance.happens(0.1) ? 5_000_000 : 0);
    const answer = await this.#operator.call("GET", `/sites/${site.siteId}/events?after=${after}&limit=${limit}`);
    if (answer?.status !== 200) return;
    const { items } = JSON.parse(answer.body) as { items: { seq: number }[] };
    site.pulled = items.at(-1)?.seq ?? (this.#chance.happens(0.3) ? 0 : site.pulled);
  }

  /** Reads the audit log from the newest row on, some pages back. */
  async #readLog(): Promise<void> {
    const { company } = this.#world;
    const chance = this.#chance;
    const site = chance.happens(0.5) ? `&site_id=${company.anySite(chance).siteId}` : "";
    const asked = `/audit?limit=${chance.one([1, 3, 20, 100])}${site}`;
    let cursor = "";
    for (let left = chance.integer(1, 5); left > 0; left--) {
      const answer = await this.#operator.call("GET", `${asked}${cursor}`);
      if (answer?.status !== 200) return;
      const { next_cursor } = JSON.parse(answer.body) as { next_cursor: string | null };
      if (next_cursor === null) return;
      cursor = `&cursor=${encodeURIComponent(next_cursor)}`;
      await this.#world.sleep(chance.one([0, 0, 2_000]));
    }
  }

  #read(): string {
    const { company, cloud } = this.#world;
    const read = this.#chance.one(this.#chance.happens(0.3) ? JOURNAL_READS : Object.values(READS));
    const site = company.anySite(this.#chance);
    // Sometimes a call of another site, which this one must not show.
    const owner = this.#chance.happens(0.4) ? company.anySite(this.#chance) : site;
    const ended = this.#chance.happens(0.3) ? company.endedSites.map(({ siteId }) => siteId) : [];
    const given = {
      siteIds: ended.length > 0 ? ended : [site.siteId],
      home: this.#chance.one([...cloud.homes.keys()]),
      calls: this.#callsOf(owner),
      now: this.#world.clock,
    };
    return read(this.#chance, site, given);
  }

  /** The newest calls of a site that were answered: accepted and refused ones. */
  #callsOf({ apps }: KnownSite): Call[] {
    const isOfSite = ({ wire }: Call) => apps.some(({ appid }) => wire.body.includes(`"${appid}"`));
    return this.#world.captured.slice(-MOST_LOOKED).filter((call) => call.answer !== undefined && isOfSite(call));
  }
}

const limitOf = (chance: Chance): string => chance.one(["", "?limit=1", "?limit=3", "?limit=100"]);

interface Given {
  /** The site, or sites that have ended. */
  siteIds: readonly number[];
  home: string;
  /** Answered calls of the site. */
  calls: readonly Call[];
  /** Unix seconds by the right clock. */
  now: number;
}

type Read = (chance: Chance, site: KnownSite, given: Given) => string;

const DAY = 86_400;

/** The x-request-id of a call of the site, or one that no call has. */
function requestIdOf(chance: Chance, calls: readonly Call[]): string {
  const call = calls.length > 0 && chance.happens(0.95) ? chance.one(calls) : undefined;
  const none = chance.one([`019b76da-b182-7052-af66-${chance.uuid().slice(-12)}`, chance.uuid(), "none"]);
  return call?.answer?.headers.get("x-request-id") ?? none;
}

const appidOf = (chance: Chance, { apps }: KnownSite): string => (apps.length > 0 ? chance.one(apps).appid : "none");

const listRefusals: Read = (chance, site, { calls, now }) => {
  const refused = calls.filter(({ answer }) => answer?.status !== 200);
  const filters = chance.some(
    [
      `limit=${chance.one([1, 3, 20])}`,
      `appid=${appidOf(chance, site)}`,
      `reason=${chance.one(["signature_mismatch", "ranstr_seen_here", "fields_invalid", "session_not_found", "no_reason"])}`,
      `operation=${chance.one(MODELS).wireName}`,
      `since=${now - chance.one([0, 5, 60, 3_600, DAY - 60, 91 * DAY])}`,
      `until=${now - chance.one([-3_600, 0, 5, 60])}`,
      `cursor=${site.siteId + (chance.happens(0.1) ? 1 : 0)}:${requestIdOf(chance, refused)}`,
    ],
    chance.one([0.1, 0.1, 0.4]),
  );
  const ofApp = filters.length === 0 && chance.happens(0.7) ? [`appid=${appidOf(chance, site)}`] : [];
  return `/sites/${site.siteId}/refusals?${[...ofApp, ...filters].join("&")}`;
};
const readUsage: Read = (chance, site, { siteIds, now }) => {
  const filters = chance.some(
    [
      `by=${chance.one(["hour", "day", "day", "week"])}`,
      `appid=${chance.one([appidOf(chance, site), appidOf(chance, site), "none", "no appid"])}`,
      `since=${now - chance.one([0, 3_600, 7_200, DAY, 500 * DAY, now + 1])}`,
      `until=${now - chance.one([-3_600, 0, 1_860, 7_200])}`,
      "limit=3",
    ],
    chance.one([0, 0.1, 0.3]),
  );
  return `/sites/${chance.one(siteIds)}/usage?${filters.join("&")}`;
};
const readMetrics: Read = (chance) => `/metrics${chance.one(["", "", "?by=site", "?by=site", "?by=app"])}`;
const readCall: Read = (chance, { siteId }, { calls }) => `/sites/${siteId}/requests/${requestIdOf(chance, calls)}`;
const findRefusal: Read = (chance, _, { calls }) => `/requests/${requestIdOf(chance, calls)}`;

/** A path for each reading call, by its name in openapi.json. Lists that are read page by page are in {@link PAGED}. */
export const READS: Record<string, Read> = {
  "/admin/sites": (chance, { siteId }) => chance.one([`/sites${limitOf(chance)}`, `/sites?cursor=${siteId}&limit=3`]),
  "/admin/sites/{site_id}": (chance, _, { siteIds }) => `/sites/${chance.one(siteIds)}`,
  // A viewer may not read it.
  "/admin/sites/{site_id}/export": (chance, _, { siteIds }) => `/sites/${chance.one(siteIds)}/export`,
  "/admin/sites/{site_id}/apps": (chance, { siteId, apps }) => {
    const cursor = apps.length > 0 ? chance.one(apps).appid : "0";
    return `/sites/${siteId}/apps${chance.one([limitOf(chance), `?cursor=${cursor}&limit=3`])}`;
  },
  "/admin/sites/{site_id}/agents": (chance, { siteId, agentIds }) =>
    `/sites/${siteId}/agents${chance.one([limitOf(chance), `?cursor=${chance.one(agentIds)}&limit=3`])}`,
  "/admin/sites/{site_id}/sessions": (chance, { siteId, chatIds }) => {
    const cursor = chatIds.length > 0 ? chance.one(chatIds) : 1;
    const query = chance.one([
      limitOf(chance),
      `?status=${chance.one(SESSION_STATUSES)}`,
      `?sbs=customer_${chance.integer(1, 6)}&limit=100`,
      `?cursor=${cursor}&limit=3`,
    ]);
    return `/sites/${siteId}/sessions${query}`;
  },
  "/admin/sites/{site_id}/sessions/{chat_id}": (chance, { siteId, chatIds }) => {
    const known = chance.happens(0.5) ? chatIds.slice(-8) : chatIds;
    return `/sites/${siteId}/sessions/${known.length > 0 ? chance.one(known) : 1}`;
  },
  "/admin/sites/{site_id}/webhooks": (_, { siteId }) => `/sites/${siteId}/webhooks`,
  "/admin/sites/{site_id}/webhooks/{webhook_id}/deliveries": (chance, { siteId, webhooks }) => {
    const id = webhooks.length > 0 ? chance.one(webhooks).id : "wh_none";
    const status = `?status=${chance.one(["pending", "delivered", "failed", "skipped"])}&limit=50`;
    return `/sites/${siteId}/webhooks/${id}/deliveries${chance.one([limitOf(chance), status])}`;
  },
  // A viewer may not read them.
  "/admin/tokens": (chance) => `/tokens${limitOf(chance)}`,
  "/admin/homes": () => "/homes",
  "/admin/homes/{name}/divergent": (chance, _, { home }) => `/homes/${home}/divergent${limitOf(chance)}`,
  "/admin/sites/{site_id}/refusals": listRefusals,
  "/admin/sites/{site_id}/requests/{request_id}": readCall,
  "/admin/requests/{request_id}": findRefusal,
  "/admin/sites/{site_id}/usage": readUsage,
  "/admin/metrics": readMetrics,
};

/** Asked more often than other reads: each shows little. */
const JOURNAL_READS = [listRefusals, readCall, findRefusal, readUsage, readMetrics];

/** The lists that the auditor reads page by page. */
export const PAGED = ["/admin/sites/{site_id}/events", "/admin/audit"];
