import * as z from "zod/mini";
import { invalidInput } from "../../core/errors.ts";
import { text } from "../../core/fields.ts";
import { MAIN_HOME } from "../../core/homes.ts";
import {
  type AuditEntry,
  type AuditFilter,
  MOST_SEARCHED,
  type ReadTo,
  selectAuditEntries,
  type Who,
  WORKER,
} from "../store/audit.ts";
import type { Site } from "../store/directory/sites.ts";
import { AUDIT_ACTIONS } from "../store/operator-schema.ts";
import { askHomes } from "./ask-homes.ts";
import { withUnbound } from "./health.ts";
import { CURSOR_RULE, checkOrder, type Page, type PageInput, pageQuerySchema, unixTimeSchema } from "./page.ts";
import type { ServiceContext } from "./service-context.ts";
import { sitesOf } from "./site-names.ts";
import { findSite } from "./sites.ts";

export type { AuditAction } from "../store/audit.ts";
export { ACTORS, AUDIT_ACTIONS, WHO_KINDS } from "../store/operator-schema.ts";

const SITE_RULE = "must be a site's id";

/** The most characters of `who` and of `subject`: as many as the longest e-mail address has. */
export const MOST_CHARACTERS = 320;

/** Query of GET /admin/audit. */
export const auditQuerySchema = z.extend(pageQuerySchema, {
  site_id: z.optional(z.pipe(z.string().check(z.regex(/^[1-9]\d{0,14}$/, SITE_RULE)), z.transform(Number))),
  who: z.optional(text(1, MOST_CHARACTERS)),
  action: z.optional(z.enum(AUDIT_ACTIONS, `must be one of ${AUDIT_ACTIONS.join(", ")}`)),
  subject: z.optional(text(1, MOST_CHARACTERS)),
  since: z.optional(unixTimeSchema),
  until: z.optional(unixTimeSchema),
});

/** Whom the audit log names: an operator, or the Worker itself. */
export type LoggedWho = Omit<Who, "kind"> & { kind: Who["kind"] | typeof WORKER };

/** A row of the audit log, and the home whose log holds it. Each home counts its own ids. */
export type AuditLogEntry = Omit<AuditEntry, "details" | "whoKind" | "whoId" | "whoName"> & {
  details: Record<string, unknown>;
  home: string;
  /** Null for a refused sign-in, and in rows from before this was stored. */
  who: LoggedWho | null;
};

interface AuditPage extends Page<AuditLogEntry> {
  /** Homes whose entries are missing, because they do not answer or are not bound. The next page asks them again. */
  homesDown: string[];
  /** The list has all fitting entries since this time, Unix seconds. Null on the last page: the list is complete. */
  searchedTo: number | null;
}

/** How many rows a page of a filtered log reads at most, in all homes together. The next page reads on. */
const MOST_ROWS_READ = 10_000;

/**
 * A page of the audit log, newest first, merged from all homes. A filtered page may have few entries or none, and still a cursor. With a
 * site, it has the entries of this site, from its home and the directory only. An operator of one site always gets those of that site.
 *
 * @throws ServiceError `invalid_input` for a malformed cursor, and for a `since` after `until`; `not_found` for an unknown site, and for
 *   another than the operator's
 */
export async function listAuditLog(
  ctx: ServiceContext,
  { siteId = ctx.identity?.onlySite, limit, cursor, ...filter }: PageInput & AuditFilter,
): Promise<AuditPage> {
  const before = readCursor(cursor);
  checkOrder(filter);
  const only = siteId === undefined ? undefined : (await findSite(ctx, { siteId })).home;
  const homes = [...ctx.config.homes].filter(
    ([home]) => (only === undefined || home === only || home === MAIN_HOME) && before.get(home) !== WHOLLY_READ,
  );
  const searches = filter.until === undefined ? 0 : homes.filter(([home]) => !before.has(home)).length;
  // Divided by 2, because a home reads its rows twice.
  const mostRead = Math.max(1, Math.floor((MOST_ROWS_READ - searches * MOST_SEARCHED) / 2 / homes.length));
  const list = (db: D1Database, home: string) =>
    selectAuditEntries(db, { ...filter, siteId }, before.get(home), limit + 1, mostRead);
  const { answers, silentHomes } = await askHomes(ctx, list, homes);
  const homesDown = await withUnbound(ctx, only, silentHomes);
  const items: AuditLogEntry[] = [];
  for (const [home, row] of mergeParts(answers)) {
    const isFull = items.length === limit;
    if (!isFull) before.set(home, row.id);
    if (isFull || !isEntry(row)) {
      for (const [name, { entries, readTo }] of answers)
        if (!readTo && entries.every(({ id }) => id >= (before.get(name) ?? Number.MAX_SAFE_INTEGER)))
          before.set(name, WHOLLY_READ);
      return {
        items,
        nextCursor: writeCursor(before),
        homesDown,
        searchedTo: isFull ? (items.at(-1)?.at ?? 0) : row.at,
      };
    }
    items.push(entryOf(row, home));
  }
  return { items, nextCursor: null, homesDown, searchedTo: null };
}

/** How many entries a file has at most. */
export const MOST_IN_FILE = 10_000;

/** How many entries are read at a time. */
const READ_AT_ONCE = 1_000;

/**
 * How many pages of a log are read for a file: otherwise a filter that fits few entries would read a whole log. Pages before `until` is
 * reached do not count: otherwise a file that continues another file could find nothing.
 */
const MOST_PAGES = 20;

/** The reading for a file ends this long before the limit of the call, so that the answer can hold what was read. */
const SPARED_MS = 2_500;

/** The entries of a file, the newest first. */
interface AuditFile {
  items: AuditLogEntry[];
  sites: Map<number, Site>;
  /** The file has all fitting entries since this time, Unix seconds. Null when it is complete. */
  searchedTo: number | null;
  homesDown: string[];
}

/**
 * Up to {@link MOST_IN_FILE} entries that fit, for a file; fewer when the homes are slow, or when few entries fit.
 *
 * @throws ServiceError as {@link listAuditLog} does
 */
export async function readAuditFile(ctx: ServiceContext, filter: AuditFilter): Promise<AuditFile> {
  const items: AuditLogEntry[] = [];
  const silentHomes = new Set<string>();
  let cursor: string | null = null;
  let searchedTo: number | null = null;
  let pages = 0;
  do {
    const limit = Math.min(READ_AT_ONCE, MOST_IN_FILE - items.length);
    const page: AuditPage = await listAuditLog(ctx, { ...filter, limit, cursor: cursor ?? undefined });
    items.push(...page.items);
    for (const home of page.homesDown) silentHomes.add(home);
    cursor = page.nextCursor;
    searchedTo = page.searchedTo;
    if (filter.until === undefined || (searchedTo ?? 0) < filter.until) pages++;
  } while (
    cursor !== null &&
    items.length < MOST_IN_FILE &&
    pages < MOST_PAGES &&
    ctx.runtime.elapsed() < ctx.answerBy - SPARED_MS
  );
  return { items, sites: await sitesOf(ctx, items), searchedTo, homesDown: [...silentHomes] };
}

type AuditPart = Awaited<ReturnType<typeof selectAuditEntries>>;

/**
 * The entries of all homes, newest first. Entries of one home stay in the order of their ids, even if their times are not: a cursor is an
 * id, and would skip an entry that is out of order. The `ReadTo` of a home comes after its entries. When two entries have the same second,
 * the directory's is the older: a change begins there.
 */
function* mergeParts(lists: ReadonlyMap<string, AuditPart>): Generator<[home: string, AuditEntry | ReadTo]> {
  const queues = [...lists].map(([home, { entries, readTo }]) => ({
    home,
    rows: [...entries, ...(readTo ? [readTo] : [])],
  }));
  for (;;) {
    const [next] = queues
      .filter(({ rows }) => rows.length > 0)
      .sort((a, b) => timeOf(b.rows) - timeOf(a.rows) || Number(a.home === MAIN_HOME) - Number(b.home === MAIN_HOME));
    const row = next?.rows.shift();
    if (next === undefined || row === undefined) return;
    yield [next.home, row];
  }
}

const isEntry = (row: AuditEntry | ReadTo): row is AuditEntry => "action" in row;

const timeOf = ([first]: (AuditEntry | ReadTo)[]): number => first?.at ?? 0;

const entryOf = ({ details, whoKind, whoId, whoName, ...entry }: AuditEntry, home: string): AuditLogEntry => ({
  ...entry,
  home,
  details: JSON.parse(details) as Record<string, unknown>,
  who: whoOf({ actor: entry.actor, whoKind, whoId, whoName }),
});

function whoOf({ actor, whoKind, whoId, whoName }: Pick<AuditEntry, "actor" | "whoKind" | "whoId" | "whoName">) {
  if (actor === WORKER) return { kind: WORKER, id: WORKER, name: WORKER } as const;
  return whoKind === null ? null : { kind: whoKind, id: whoId ?? "", name: whoName ?? "" };
}

/** The place in a home whose entries are all listed: the next pages do not ask it. */
const WHOLLY_READ = 0;

/** For each home, the next page continues below this id: `main:120,apac:7`. */
const writeCursor = (before: ReadonlyMap<string, number>): string =>
  [...before].map(([home, id]) => `${home}:${id}`).join(",");

function readCursor(cursor: string | undefined): Map<string, number> {
  if (cursor === undefined) return new Map();
  const parts = cursor.split(",").map((part) => /^([a-z][a-z0-9-]{0,30}):(\d{1,15})$/.exec(part));
  if (parts.includes(null)) throw invalidInput([{ field: "cursor", message: CURSOR_RULE }]);
  return new Map(parts.map((part) => [String(part?.[1]), Number(part?.[2])]));
}
