/**
 * Floors of ids, stored in KV because a restore of D1 does not undo them there. No id up to a floor may be given again. Floors only rise,
 * so an old one is harmless, and no key is ever deleted or lowered. Keys:
 * - `floors:<home>:site:<id>:<floor>`: a first_chat_id that an operator set;
 * - `floors:<home>:settling:<id>`: all sites of a reconciled home;
 * - `site-ids:<…>`: the id of each site.
 */

export interface Floors {
  siteId: number;
  chatId: number;
  eventSeq: number;
}

/** The floors of a home that KV has. */
export interface RememberedFloors {
  /** At most one for each site. */
  floors: Floors[];
  /** The highest site id of all homes; 0 when KV knows none. */
  highestSite: number;
}

/** Where a reading of KV's floors stopped. */
export interface FloorsPlace {
  /** The cursor of the page of keys; null for the first page. */
  cursor: string | null;
  /** The last key that was read. */
  after: string;
}

/** Half of the highest integer that a number holds exactly. A higher value in KV is ignored: the site would have too few ids left. */
const HIGHEST_FLOOR = 2 ** 52;
const HIGHEST_SITE = 1_000_000_000;

const prefixOf = (home: string) => `floors:${home}:`;
const siteKey = (home: string, { siteId, chatId }: Floors) => `${prefixOf(home)}site:${siteId}:${chatId}`;
const reconciliationKey = (home: string, reconciliationId: string) => `${prefixOf(home)}settling:${reconciliationId}`;
const SITE_IDS = "site-ids:";
/** KV lists keys in byte order, so the highest id must have the lowest key. */
const siteIdKey = (siteId: number) => `${SITE_IDS}${String(HIGHEST_SITE - siteId).padStart(10, "0")}`;

/** An entry in KV: the site, its chat_id floor, its event floor. */
type FloorsEntry = [siteId: number, chatId: number, eventSeq: number];

/** Calls KV once, with a timeout. @throws ServiceError `unavailable`, reason `kv_unavailable` */
export type AskKv = <T>(ask: () => Promise<T>) => Promise<T>;

const START_OF_FLOORS: FloorsPlace = { cursor: null, after: "" };

/**
 * Reads KV's floors of a home in the order of their keys. Damaged entries are ignored. When KV fails, the entries read before are returned.
 * When KV refuses the cursor of an earlier reading, this one starts from the beginning.
 *
 * @param askKv  makes each call to KV
 * @param isOver stops the reading between two calls to KV
 * @param from   where an earlier reading stopped
 * @returns at most one entry for each site; `rest` says where the reading continues, and is undefined when all were read
 * @throws any error of `askKv`, when nothing was read before it
 */
export async function readFloors(
  kv: KVNamespace | undefined,
  home: string,
  askKv: AskKv,
  isOver: () => boolean,
  from = START_OF_FLOORS,
): Promise<{ floors: Floors[]; rest: FloorsPlace | undefined }> {
  if (kv === undefined) return { floors: [], rest: undefined };
  const floorsOfSites = new Map<number, Floors>();
  const take = (entry: unknown) => {
    const floors = floorsOf(entry);
    if (floors === undefined) return;
    const knownFloors = floorsOfSites.get(floors.siteId) ?? floors;
    floorsOfSites.set(floors.siteId, {
      siteId: floors.siteId,
      chatId: Math.max(knownFloors.chatId, floors.chatId),
      eventSeq: Math.max(knownFloors.eventSeq, floors.eventSeq),
    });
  };
  const reconciliations = prefixOf(home).concat("settling:");
  let place = from;
  const readUntil = (rest: FloorsPlace | undefined) => ({ floors: [...floorsOfSites.values()], rest });
  try {
    for (;;) {
      const listOptions = { prefix: prefixOf(home), cursor: place.cursor };
      const page: KVNamespaceListResult<unknown> = await askKv(() => kv.list(listOptions));
      for (const { name, metadata } of page.keys) {
        if (name <= place.after) continue;
        if (!name.startsWith(reconciliations)) take(metadata);
        else if (isOver()) return readUntil(place);
        else for (const entry of parseEntries(await askKv(() => kv.get(name, "text")))) take(entry);
        place = { cursor: place.cursor, after: name };
      }
      if (!page.list_complete) place = { cursor: page.cursor, after: place.after };
      if (isOver()) return readUntil(place);
      if (page.list_complete) return readUntil(undefined);
    }
  } catch (error) {
    if (place !== from) return readUntil(place);
    // An error without a cause means that KV did not answer. Then the cursor may still be good.
    if (from.cursor === null || (error as Error).cause === undefined) throw error;
    return readFloors(kv, home, askKv, isOver);
  }
}

/** The highest site id that KV knows, of all homes; 0 when it knows none. @throws any error of `askKv` */
export async function readHighestSite(kv: KVNamespace | undefined, askKv: AskKv): Promise<number> {
  if (kv === undefined) return 0;
  const [newest] = (await askKv(() => kv.list({ prefix: SITE_IDS, limit: 1 }))).keys;
  const highestSite = HIGHEST_SITE - Number(newest?.name.slice(SITE_IDS.length) ?? HIGHEST_SITE);
  return isWithin(highestSite, HIGHEST_SITE) ? highestSite : 0;
}

export async function writeSiteFloors(kv: KVNamespace | undefined, home: string, floors: Floors): Promise<void> {
  await kv?.put(siteKey(home, floors), "", { metadata: entryOf(floors) });
}

export async function writeSiteId(kv: KVNamespace | undefined, siteId: number): Promise<void> {
  await kv?.put(siteIdKey(siteId), "");
}

export async function writeReconciledFloors(
  kv: KVNamespace | undefined,
  home: string,
  reconciliationId: string,
  floors: Floors[],
): Promise<void> {
  await kv?.put(reconciliationKey(home, reconciliationId), JSON.stringify(floors.map(entryOf)));
}

const entryOf = ({ siteId, chatId, eventSeq }: Floors): FloorsEntry => [siteId, chatId, eventSeq];

const isWithin = (value: unknown, highest: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= highest;

function floorsOf(entry: unknown): Floors | undefined {
  const [siteId, chatId, eventSeq] = (Array.isArray(entry) ? entry : []) as unknown[];
  if (!isWithin(siteId, HIGHEST_SITE) || !isWithin(chatId, HIGHEST_FLOOR) || !isWithin(eventSeq, HIGHEST_FLOOR)) {
    return undefined;
  }
  return { siteId, chatId, eventSeq };
}

function parseEntries(text: string | null | undefined): unknown[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
