/**
 * Floors of ids, kept in KV because a restore of D1 does not undo them there. No id up to a floor may be given again. Floors only
 * rise, so an old one is harmless, and no key is ever deleted or lowered. Keys:
 * - `floors:<home>:site:<id>:<floor>`: a first_chat_id that an operator set;
 * - `floors:<home>:settling:<id>`: all sites of a reconciled home;
 * - `site-ids:<…>`: the id of each site.
 */

/** The floors of one site. */
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

/** Half of the integers that a number holds exactly. A higher value in KV is ignored: it would leave the site too few ids. */
const HIGHEST_FLOOR = 2 ** 52;
const HIGHEST_SITE = 1_000_000_000;

const prefixOf = (home: string) => `floors:${home}:`;
const siteKey = (home: string, { siteId, chatId }: Floors) => `${prefixOf(home)}site:${siteId}:${chatId}`;
const reconciliationKey = (home: string, reconciliationId: string) => `${prefixOf(home)}settling:${reconciliationId}`;
const SITE_IDS = "site-ids:";
/** KV lists keys in byte order, so the highest id must have the lowest key. */
const siteIdKey = (siteId: number) => `${SITE_IDS}${String(HIGHEST_SITE - siteId).padStart(10, "0")}`;

/** As KV holds it: the site, its chat_id floor, its event floor. */
type Entry = [siteId: number, chatId: number, eventSeq: number];

/** Calls KV once, with a timeout. @throws ServiceError `unavailable`, reason `kv_unavailable` */
export type AskKv = <T>(ask: () => Promise<T>) => Promise<T>;

/**
 * Reads KV's floors of a home, and the highest site id. Damaged entries are ignored.
 *
 * @param askKv makes each call to KV
 * @throws any error of `askKv`
 */
export async function readFloors(kv: KVNamespace | undefined, home: string, askKv: AskKv): Promise<RememberedFloors> {
  const found = new Map<number, Floors>();
  if (kv === undefined) return { floors: [], highestSite: 0 };
  const take = (entry: unknown) => {
    const floors = floorsOf(entry);
    if (floors === undefined) return;
    const known = found.get(floors.siteId) ?? floors;
    found.set(floors.siteId, {
      siteId: floors.siteId,
      chatId: Math.max(known.chatId, floors.chatId),
      eventSeq: Math.max(known.eventSeq, floors.eventSeq),
    });
  };
  const reconciliations = prefixOf(home).concat("settling:");
  for (let cursor: string | null | undefined = null; cursor !== undefined; ) {
    const asked: { prefix: string; cursor: string | null } = { prefix: prefixOf(home), cursor };
    const page: KVNamespaceListResult<unknown> = await askKv(() => kv.list(asked));
    for (const { name, metadata } of page.keys) {
      if (!name.startsWith(reconciliations)) take(metadata);
      else for (const entry of parsed(await askKv(() => kv.get(name, "text")))) take(entry);
    }
    cursor = page.list_complete ? undefined : page.cursor;
  }
  const [newest] = (await askKv(() => kv.list({ prefix: SITE_IDS, limit: 1 }))).keys;
  const highestSite = HIGHEST_SITE - Number(newest?.name.slice(SITE_IDS.length) ?? HIGHEST_SITE);
  return { floors: [...found.values()], highestSite: isWithin(highestSite, HIGHEST_SITE) ? highestSite : 0 };
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

const entryOf = ({ siteId, chatId, eventSeq }: Floors): Entry => [siteId, chatId, eventSeq];

const isWithin = (value: unknown, highest: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= highest;

function floorsOf(entry: unknown): Floors | undefined {
  const [siteId, chatId, eventSeq] = (Array.isArray(entry) ? entry : []) as unknown[];
  if (!isWithin(siteId, HIGHEST_SITE) || !isWithin(chatId, HIGHEST_FLOOR) || !isWithin(eventSeq, HIGHEST_FLOOR)) {
    return undefined;
  }
  return { siteId, chatId, eventSeq };
}

function parsed(text: string | null | undefined): unknown[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
