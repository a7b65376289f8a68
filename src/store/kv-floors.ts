import { ServiceError } from "../errors.ts";

/**
 * Up to which number the ids of each site were given or skipped, kept in KV: a restore of D1 does not undo it there. Floors only rise, so
 * an old one harms nothing, and no key is ever deleted or written over with a lower one. Keys: `floors:<home>:site:<id>:<floor>` for what
 * an operator set, and `floors:<home>:settling:<id>` for all sites of a home that a settling lifted.
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

const PREFIX = "floors:";
const siteKey = (home: string, { siteId, chatId }: Floors) => `${PREFIX}${home}:site:${siteId}:${chatId}`;
const settlingKey = (home: string, settlingId: string) => `${PREFIX}${home}:settling:${settlingId}`;

/** As KV holds it: the site, its chat_id floor, its event floor. */
type Entry = [siteId: number, chatId: number, eventSeq: number];

/**
 * Everything that KV remembers. What is no floor is passed over.
 *
 * @throws ServiceError `unavailable`, reason `kv_unavailable`
 */
export async function readFloors(kv: KVNamespace | undefined, home: string): Promise<RememberedFloors> {
  const found = new Map<number, Floors>();
  let highestSite = 0;
  const take = (entry: unknown, isMine: boolean) => {
    const floors = floorsOf(entry);
    if (floors === undefined) return;
    highestSite = Math.max(highestSite, floors.siteId);
    if (!isMine) return;
    const known = found.get(floors.siteId) ?? floors;
    found.set(floors.siteId, {
      siteId: floors.siteId,
      chatId: Math.max(known.chatId, floors.chatId),
      eventSeq: Math.max(known.eventSeq, floors.eventSeq),
    });
  };
  await answered(async () => {
    for await (const { name, metadata } of keysOf(kv)) {
      const [, of, kind] = name.split(":");
      if (kind === "site") take(metadata, of === home);
      else if (of === home) for (const entry of parsed(await kv?.get(name, "text"))) take(entry, true);
    }
  });
  return { floors: [...found.values()], highestSite };
}

/** Remembers the floors of one site. @throws ServiceError `unavailable`, reason `kv_unavailable` */
export async function writeSiteFloors(kv: KVNamespace | undefined, home: string, floors: Floors): Promise<void> {
  await answered(async () => kv?.put(siteKey(home, floors), "", { metadata: entryOf(floors) }));
}

/** Remembers the floors of all sites of a settled home. @throws ServiceError `unavailable`, reason `kv_unavailable` */
export async function writeSettledFloors(
  kv: KVNamespace | undefined,
  home: string,
  settlingId: string,
  floors: Floors[],
): Promise<void> {
  await answered(async () => kv?.put(settlingKey(home, settlingId), JSON.stringify(floors.map(entryOf))));
}

async function* keysOf(kv: KVNamespace | undefined) {
  for (let cursor: string | null = null; kv !== undefined; ) {
    const page: KVNamespaceListResult<unknown> = await kv.list({ prefix: PREFIX, cursor });
    yield* page.keys;
    if (page.list_complete) return;
    cursor = page.cursor;
  }
}

async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    throw new ServiceError("unavailable", { reason: "kv_unavailable", detail: "KV does not answer.", cause });
  }
}

const entryOf = ({ siteId, chatId, eventSeq }: Floors): Entry => [siteId, chatId, eventSeq];

function floorsOf(entry: unknown): Floors | undefined {
  const [siteId, chatId, eventSeq] = (Array.isArray(entry) ? entry : []) as unknown[];
  const isWithin = (value: unknown, highest: number): value is number =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) <= highest;
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
