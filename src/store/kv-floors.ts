/**
 * Up to which number ids were given or skipped, kept in KV: a restore of D1 does not undo it there. Floors only rise, so an old one harms
 * nothing, and no key is ever deleted or written over with a lower one. Keys: `floors:<home>:site:<id>:<floor>` for a first_chat_id that
 * an operator set, `floors:<home>:settling:<id>` for all sites of a reconciled home, and `site-ids:<…>` for each site.
 */

/** No id up to these is given again. */
export interface Floors {
  siteId: number;
  chatId: number;
  eventSeq: number;
}

/** What KV remembers of a home. */
export interface RememberedFloors {
  /** One for each site that KV knows. */
  floors: Floors[];
  /** The highest site id of any home, or 0. */
  highestSite: number;
}

/** Half of what a number holds exactly: whatever KV says, a site has ids left. */
const HIGHEST_FLOOR = 2 ** 52;
const HIGHEST_SITE = 1_000_000_000;

const prefixOf = (home: string) => `floors:${home}:`;
const siteKey = (home: string, { siteId, chatId }: Floors) => `${prefixOf(home)}site:${siteId}:${chatId}`;
const reconciliationKey = (home: string, reconciliationId: string) => `${prefixOf(home)}settling:${reconciliationId}`;
const SITE_IDS = "site-ids:";
/** KV lists keys in the order of their bytes: this way the highest id comes first. */
const siteIdKey = (siteId: number) => `${SITE_IDS}${String(HIGHEST_SITE - siteId).padStart(10, "0")}`;

/** As KV holds it: the site, its chat_id floor, its event floor. */
type Entry = [siteId: number, chatId: number, eventSeq: number];

/** Asks KV once, and gives up after a while. @throws ServiceError `unavailable`, reason `kv_unavailable` */
export type AskKv = <T>(ask: () => Promise<T>) => Promise<T>;

/**
 * What KV remembers of the sites of a home, and of all site ids. What is no floor is passed over.
 *
 * @param askKv is given each call of its own
 * @throws what `askKv` throws
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

/** Remembers the floors of one site. */
export async function writeSiteFloors(kv: KVNamespace | undefined, home: string, floors: Floors): Promise<void> {
  await kv?.put(siteKey(home, floors), "", { metadata: entryOf(floors) });
}

/** Remembers that a site has this id. */
export async function writeSiteId(kv: KVNamespace | undefined, siteId: number): Promise<void> {
  await kv?.put(siteIdKey(siteId), "");
}

/** Remembers the floors of all sites of a reconciled home. */
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
