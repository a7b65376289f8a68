import { inOneBatch } from "../../core/store/batch.ts";
import { type Site, selectSites } from "../store/directory/sites.ts";
import {
  type AgentHit,
  type AppHit,
  type CustomerHit,
  type EventHit,
  findAgentNames,
  findAgents,
  findAppNames,
  findApps,
  findCustomers,
  findEvents,
  findSessions,
  findSessionsOf,
  findTitles,
  findWebhooks,
  MOST_FOUND,
  type SessionHit,
  type WebhookHit,
} from "../store/home/search.ts";
import { askHomes } from "./ask-homes.ts";
import { isCallOf, locateCall } from "./find-call.ts";
import { readSearchText, type SearchText } from "./search-text.ts";
import { type ServiceContext, seesSite, urlFor } from "./service-context.ts";
import { findSite, hasEnded } from "./sites.ts";

export type { AgentHit, AppHit, CustomerHit, EventHit, SessionHit, WebhookHit } from "../store/home/search.ts";
export { EVENTS_SEARCHED, MOST_FOUND, NAMES_SEARCHED, TITLES_SEARCHED } from "../store/home/search.ts";
export { MOST_TYPED, MOST_WORDS, type SearchText } from "./search-text.ts";

/** How many sites of a home are searched for ids. */
export const MOST_SITES = 200;

/** How many sites of a home are searched for words and for events: such a search reads thousands of rows of each. */
export const MOST_SITES_FOR_WORDS = 20;

/** How many sites are read from the directory. */
const MOST_SITES_READ = 1_000;

/** The results of a home, or of all homes together. */
export interface Hits {
  /** By the chat_id. */
  sessions: SessionHit[];
  /** By words of their titles. */
  titles: SessionHit[];
  customers: CustomerHit[];
  /** The newest sessions of these customers. */
  sessionsOf: SessionHit[];
  apps: AppHit[];
  agents: AgentHit[];
  webhooks: WebhookHit[];
  events: EventHit[];
}

export interface SearchResult extends Hits {
  searchText: SearchText;
  calls: { siteId: number; requestId: string }[];
  /** By words of their names, or by the id. */
  namedSites: Site[];
  /** The sites that the operator sees, by their ids: a thousand at most. */
  sites: ReadonlyMap<number, Site>;
  /** Kinds with more hits than the result has. */
  kindsWithMore: ReadonlySet<string>;
  /** Homes that gave nothing, because they do not answer or are not bound. */
  homesDown: string[];
  /** How many sites were not searched for ids, and for words. With `isMore`, some sites were not even read, so there are more. */
  left: { ids: number; words: number; isMore: boolean };
}

/**
 * Searches the sites that the operator sees. Asks each home once, all at the same time. Reads a bounded part of each site, and a bounded
 * number of sites of each home: `openSite` first, then those with the lowest ids. Changes nothing.
 *
 * @param input `openSite`: the id of the site whose page was open
 */
export async function search(
  ctx: ServiceContext,
  { typed, openSite }: { typed: string; openSite?: number | undefined },
): Promise<SearchResult> {
  const searchText = readSearchText(typed);
  const openedSite =
    openSite === undefined ? undefined : await findSite(ctx, { siteId: openSite }).catch(() => undefined);
  const readSites = await selectSites(ctx.config.directory, 0, MOST_SITES_READ + 1, ctx.identity?.onlySite);
  const sitesOpenFirst = [
    ...(openedSite === undefined ? [] : [openedSite]),
    ...readSites.filter(({ id }) => id !== openedSite?.id),
  ];
  const sites = sitesOpenFirst.filter((site) => !hasEnded(site));
  const byHome = Map.groupBy(
    sites.filter(({ status }) => status !== "creating"),
    ({ home }) => home,
  );
  const bound = [...ctx.config.homes].filter(([home]) => byHome.has(home));
  const ask = (db: D1Database, home: string) => askHome(db, searchText, byHome.get(home) ?? []);
  const [homes, call] = await Promise.all([askHomes(ctx, ask, bound), locateTypedCall(ctx, searchText, openedSite)]);
  const unbound = [...byHome.keys()].filter((home) => !ctx.config.homes.has(home));
  const places = new Map(sites.map(({ id }, index) => [id, index]));
  const { hits, kindsWithMore } = mergeHits([...homes.answers.values()], places);
  for (const each of [...hits.webhooks, ...hits.events]) each.url &&= urlFor(ctx, each.url);
  const sitesBeyond = (most: number) =>
    [...byHome.values()].reduce((sum, { length }) => sum + Math.max(0, length - most), 0);
  return {
    searchText,
    ...hits,
    calls: call.calls,
    namedSites: sites.filter((site) => isNamed(site, searchText)).slice(0, MOST_FOUND),
    sites: new Map(sitesOpenFirst.map((site) => [site.id, site])),
    kindsWithMore,
    homesDown: [...new Set([...homes.silentHomes, ...unbound, ...call.homesDown])],
    left: {
      ids: sitesBeyond(MOST_SITES),
      words: sitesBeyond(MOST_SITES_FOR_WORDS),
      isMore: readSites.length > MOST_SITES_READ,
    },
  };
}

const KINDS = ["sessions", "titles", "customers", "apps", "agents", "webhooks", "events"] as const;

/** Asks a home for everything that the text may be, in one batch. */
async function askHome(db: D1Database, searchText: SearchText, sitesOfHome: Site[]): Promise<Partial<Hits>[]> {
  const { number, sbs, appids, webhookId, eventId } = searchText;
  const idsOf = (most: number) => JSON.stringify(sitesOfHome.slice(0, most).map(({ id }) => id));
  const [sites, few] = [idsOf(MOST_SITES), idsOf(MOST_SITES_FOR_WORDS)];
  const words = JSON.stringify(searchText.words);
  const questions: [keyof Hits, D1PreparedStatement][] = [];
  if (number !== undefined) {
    questions.push(["sessions", findSessions(db, { sites, chatId: number })]);
    questions.push(["agents", findAgents(db, { sites, id: number })]);
  }
  if (sbs !== undefined) {
    questions.push(["customers", findCustomers(db, { sites, externalId: sbs })]);
    questions.push(["sessionsOf", findSessionsOf(db, { sites, externalId: sbs })]);
  }
  if (appids !== undefined) questions.push(["apps", findApps(db, { sites, ...appids })]);
  if (webhookId !== undefined) questions.push(["webhooks", findWebhooks(db, { sites, id: webhookId })]);
  if (eventId !== undefined) questions.push(["events", findEvents(db, { sites: few, id: eventId })]);
  if (searchText.words.length > 0) {
    questions.push(["apps", findAppNames(db, { sites: few, words })]);
    questions.push(["agents", findAgentNames(db, { sites: few, words })]);
    questions.push(["titles", findTitles(db, { sites: few, words })]);
  }
  if (questions.length === 0) return [];
  const { found } = await inOneBatch(db, { found: questions.map(([kind, statement]) => ({ [kind]: statement })) });
  return found as Partial<Hits>[];
}

/** The page of a call, found by its request id on the sites that the operator sees. */
async function locateTypedCall(
  ctx: ServiceContext,
  { requestId }: SearchText,
  openedSite: Site | undefined,
): Promise<{ calls: SearchResult["calls"]; homesDown: string[] }> {
  const nothing = { calls: [], homesDown: [] };
  if (requestId === undefined) return nothing;
  const only = ctx.identity?.onlySite;
  if (only !== undefined) {
    const site = openedSite?.id === only ? openedSite : await findSite(ctx, { siteId: only });
    return (await isCallOf(ctx, site, requestId)) ? { calls: [{ siteId: only, requestId }], homesDown: [] } : nothing;
  }
  const { siteId, homesDown } = await locateCall(ctx, { requestId, site: openedSite });
  return siteId !== undefined && seesSite(ctx, siteId)
    ? { calls: [{ siteId, requestId }], homesDown }
    : { ...nothing, homesDown };
}

/** The hits of all homes together, in the order of the sites, without duplicates. */
function mergeHits(
  answers: Partial<Hits>[][],
  places: ReadonlyMap<number, number>,
): { hits: Hits; kindsWithMore: Set<string> } {
  const kindsWithMore = new Set<string>();
  const hitsOf = <Hit extends { siteId: number }>(kind: keyof Hits, keyOf: (hit: Hit) => string): Hit[] => {
    const allHits = answers.flat().flatMap((part) => (part[kind] ?? []) as unknown as Hit[]);
    const distinct = [...new Map(allHits.map((hit) => [`${hit.siteId} ${keyOf(hit)}`, hit])).values()];
    const placeOf = ({ siteId }: Hit) => places.get(siteId) ?? Number.MAX_SAFE_INTEGER;
    if (distinct.length > MOST_FOUND) kindsWithMore.add(kind);
    return distinct.toSorted((a, b) => placeOf(a) - placeOf(b)).slice(0, MOST_FOUND);
  };
  const hits: Hits = {
    sessions: hitsOf<SessionHit>("sessions", ({ id }) => String(id)),
    titles: hitsOf<SessionHit>("titles", ({ id }) => String(id)),
    customers: hitsOf<CustomerHit>("customers", ({ externalId }) => externalId),
    sessionsOf: hitsOf<SessionHit>("sessionsOf", ({ id }) => String(id)),
    apps: hitsOf<AppHit>("apps", ({ appid }) => appid),
    agents: hitsOf<AgentHit>("agents", ({ id }) => String(id)),
    webhooks: hitsOf<WebhookHit>("webhooks", ({ id }) => id),
    events: hitsOf<EventHit>("events", ({ seq, webhookId }) => `${seq} ${webhookId}`),
  };
  return { hits, kindsWithMore };
}

const lowerAscii = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

function isNamed({ id, name }: Site, { number, words }: SearchText): boolean {
  if (id === number) return true;
  const called = lowerAscii(name);
  return words.length > 0 && words.every((word) => called.includes(lowerAscii(word)));
}

export const hasFound = ({ calls, namedSites, ...hits }: SearchResult): boolean =>
  [calls, namedSites, ...KINDS.map((kind) => hits[kind])].some((hits) => hits.length > 0);

/** The only hit, when it was found by an id: the search opens its page at once. */
interface OnlyFound {
  kind: "call" | "session" | "app" | "webhook";
  siteId: number;
  id: string | number;
}

/**
 * The only hit that the text can mean. A number that was typed on a page of a site means a session of this site, if nothing else of the
 * site has this number.
 */
export function onlyFound(result: SearchResult, openSite: number | undefined): OnlyFound | undefined {
  const { searchText, calls, sessions, titles, customers, apps, agents, webhooks, events, namedSites, homesDown } =
    result;
  const isOnSite = ({ siteId }: { siteId: number }) =>
    openSite === undefined || siteId === openSite || searchText.number === undefined;
  const otherHits = [titles, customers, agents, events].flatMap((hits) => hits.filter(isOnSite)).length;
  const sitesNamed = openSite === undefined ? namedSites.length : 0;
  const each: OnlyFound[] = [
    ...calls.map(({ siteId, requestId: id }) => ({ kind: "call" as const, siteId, id })),
    ...webhooks.map(({ siteId, id }) => ({ kind: "webhook" as const, siteId, id })),
    ...sessions.filter(isOnSite).map(({ siteId, id }) => ({ kind: "session" as const, siteId, id })),
    ...apps.filter(isOnSite).map(({ siteId, appid: id }) => ({ kind: "app" as const, siteId, id })),
  ];
  const [only] = each;
  if (only === undefined || each.length > 1 || otherHits + sitesNamed > 0) return undefined;
  if (only.kind === "session") return openSite === undefined ? undefined : only;
  if (only.kind === "app") return only.id === searchText.text && homesDown.length === 0 ? only : undefined;
  return only;
}
