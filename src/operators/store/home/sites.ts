import { and, eq, getTableColumns, ne, notExists, or, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { newestSessionId } from "../../../core/store/claim.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { homeSites } from "../../../core/store/schema.ts";
import { type AuditAction, type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { changeRow, hasAll } from "../change-row.ts";
import { siteDeletions } from "../erasure-schema.ts";
import { endOf } from "./site-deletions.ts";

/** A site as its home knows it. */
type HomeSite = typeof homeSites.$inferSelect;

/** The highest first_chat_id that may be set. Higher ones from earlier releases stay valid. */
export const HIGHEST_FIRST_CHAT_ID = 1_000_000_000_000;

/**
 * Inserts a site into its home, unless an earlier run of the same call has done so.
 *
 * @returns false when the home has another site under this id, or had one that was deleted
 */
export async function insertHomeSite(
  runtime: Runtime,
  db: D1Database,
  site: Omit<HomeSite, "status" | "revision" | "events" | "eventSeqFloor" | "retentionDays">,
  author: Author,
): Promise<boolean> {
  const store = drizzle(db);
  const isSameSite = and(
    eq(homeSites.siteId, site.siteId),
    eq(homeSites.name, site.name),
    eq(homeSites.createdAt, site.createdAt),
  );
  const audited = {
    siteId: sql`${site.siteId}`,
    action: "site.created" as const,
    subject: sql`${String(site.siteId)}`,
    details: sql`${JSON.stringify({ name: site.name, first_chat_id: site.chatIdFloor + 1 })}`,
  };
  // A restored directory may give the id of a deleted site again.
  const endedSite = store.select().from(siteDeletions).where(eq(siteDeletions.siteId, site.siteId));
  const batch = () =>
    inOneBatch(db, {
      inserted: store
        .insert(homeSites)
        .select((query) =>
          query
            .select({
              siteId: sql`${site.siteId}`.as("site_id"),
              name: sql`${site.name}`.as("name"),
              status: sql`'open'`.as("status"),
              chatIdFloor: sql`${site.chatIdFloor}`.as("chat_id_floor"),
              revision: sql`0`.as("revision"),
              createdAt: sql`${site.createdAt}`.as("created_at"),
              events: sql`0`.as("events"),
              eventSeqFloor: sql`0`.as("event_seq_floor"),
              retentionDays: sql`NULL`.as("retention_days"),
            })
            .from(ONE_ROW)
            .where(notExists(endedSite)),
        )
        .onConflictDoNothing(),
      audited: auditOf(db, author, audited, ONE_ROW, CHANGED),
      found: store.select({ siteId: homeSites.siteId }).from(homeSites).where(isSameSite),
    });
  const { found } = await withRetries(runtime, batch);
  return found.length === 1;
}

/** The directory's copy of a site. A restored home may be older than this copy. */
export type KnownSite = Pick<HomeSite, "siteId" | "name" | "status" | "chatIdFloor" | "revision" | "retentionDays"> & {
  home: string;
};

/** The wanted changes. A chatIdFloor must be above every given id: a lower floor would give ids twice. */
interface HomeSiteChange {
  name?: string | undefined;
  status?: HomeSite["status"] | undefined;
  chatIdFloor?: number | undefined;
  events?: boolean | undefined;
  retentionDays?: number | null | undefined;
}

const HIGHEST_ID = sql<number>`max(${homeSites.chatIdFloor}, ${newestSessionId(homeSites.siteId)})`;

/** The details for the audit log when events are turned on or off. */
export const eventsSwitched = (events: boolean): SQL => sql`${JSON.stringify({ from: !events, to: events })}`;

/** The values of the site after the change, and the condition for the wanted floor. */
function changeOver(before: HomeSite, knownSite: KnownSite, wantedChange: HomeSiteChange) {
  const isOlder = before.revision < knownSite.revision;
  const { name, status, retentionDays } = isOlder ? knownSite : before;
  // The directory's floor counts even when its revision is not newer. Reconciling raises the floor in both databases without a new
  // revision, and the next restore undoes it in the home.
  const leastFloor = knownSite.chatIdFloor;
  const floor = wantedChange.chatIdFloor;
  const next = {
    name: wantedChange.name ?? name,
    status: wantedChange.status ?? status,
    chatIdFloor: floor ?? sql<number>`max(${homeSites.chatIdFloor}, ${leastFloor})`,
    events: wantedChange.events ?? before.events,
    retentionDays: wantedChange.retentionDays === undefined ? retentionDays : wantedChange.retentionDays,
    revision: Math.max(before.revision, knownSite.revision) + 1,
  };
  // The same floor may be set again, even when sessions were opened above it.
  const isFree = or(sql`${HIGHEST_ID} <= ${floor}`, eq(homeSites.chatIdFloor, floor ?? 0));
  return { next, allowed: floor === undefined ? undefined : and(sql`${floor} >= ${leastFloor}`, isFree) };
}

/**
 * Changes a site completely or not at all: a floor below a given id changes nothing. When a restored home is older than the
 * directory's copy, the change starts from that copy. The new revision is higher than both, so that reconciling the home does not
 * undo the change.
 *
 * @param answerBy see {@link withRetries}
 * @returns the site as it is now; undefined when the home does not have it, or its deletion has begun. `givenId` is set when the wanted
 *   floor was too low, and then nothing was changed: it is the highest id that was given or skipped
 * @throws ServiceError as {@link changeRow} does
 */
export async function updateHomeSite(
  runtime: Runtime,
  db: D1Database,
  knownSite: KnownSite,
  wantedChange: HomeSiteChange,
  author: Author,
  answerBy?: number,
): Promise<{ site: HomeSite; givenId: number | undefined } | undefined> {
  const store = drizzle(db);
  // A site whose deletion has begun stays closed.
  const isSite = and(eq(homeSites.siteId, knownSite.siteId), notExists(endOf(db, knownSite)));
  const find = () =>
    store
      .select({ ...getTableColumns(homeSites), highestId: HIGHEST_ID.as("highest_id") })
      .from(homeSites)
      .where(isSite);
  type SiteWithHighestId = HomeSite & { highestId: number };

  const write = async (before: SiteWithHighestId) => {
    const { next, allowed } = changeOver(before, knownSite, wantedChange);
    // The condition names `events`, because the first webhook turns events on without a new revision.
    const unchanged = and(
      isSite,
      eq(homeSites.revision, before.revision),
      eq(homeSites.events, before.events),
      allowed,
    );
    const subject = sql`CAST(${homeSites.siteId} AS TEXT)`;
    const auditRow = (action: AuditAction, details: SQL, changes: SQL) =>
      auditOf(db, author, { siteId: homeSites.siteId, action, subject, details }, homeSites, and(unchanged, changes));
    const statusDetails = sql`json_object('name', ${next.name}, 'from', ${homeSites.status}, 'to', ${next.status})`;
    // The audit statements come before the update, because they need the row's old values.
    const {
      changed,
      now: [now],
    } = await inOneBatch(db, {
      audited: [
        auditRow(
          "site.renamed",
          sql`json_object('from', ${homeSites.name}, 'to', ${next.name})`,
          ne(homeSites.name, next.name),
        ),
        auditRow(
          next.status === "closed" ? "site.closed" : "site.opened",
          statusDetails,
          ne(homeSites.status, next.status),
        ),
        auditRow(
          "site.first_chat_id_set",
          sql`json_object('first_chat_id', ${next.chatIdFloor} + 1, 'from', ${homeSites.chatIdFloor} + 1, 'to', ${next.chatIdFloor} + 1)`,
          ne(homeSites.chatIdFloor, next.chatIdFloor),
        ),
        auditRow(
          next.events ? "site.events_on" : "site.events_off",
          eventsSwitched(next.events),
          ne(homeSites.events, next.events),
        ),
        auditRow(
          "site.retention_set",
          sql`json_object('from', ${homeSites.retentionDays}, 'to', CAST(${next.retentionDays} AS INTEGER))`,
          sql`${homeSites.retentionDays} IS NOT ${next.retentionDays}`,
        ),
      ],
      changed: store.update(homeSites).set(next).where(unchanged),
      now: find(),
    });
    return { changed: changed.meta.changes === 1, now };
  };

  const isDone = (now: SiteWithHighestId) => now.revision >= knownSite.revision && hasAll<HomeSite>(now, wantedChange);
  const isRefused = (now: SiteWithHighestId, before: SiteWithHighestId) =>
    now.revision === before.revision && now.events === before.events;
  const now = await changeRow<SiteWithHighestId>({
    read: async () => (await find()).at(0),
    write,
    isFinal: (now, before) => isDone(now) || isRefused(now, before),
    retry: (call) => withRetries(runtime, call, answerBy),
  });
  if (now === undefined) return undefined;
  const { highestId: highest, ...site } = now;
  return { site, givenId: isDone(now) ? undefined : Math.max(highest, knownSite.chatIdFloor) };
}

/** A site as its home has it; undefined when the home does not have it. */
export function selectHomeSite(db: D1Database, siteId: number): Promise<HomeSite | undefined> {
  return drizzle(db).select().from(homeSites).where(eq(homeSites.siteId, siteId)).get();
}

/** The highest id that a site has given or skipped, and the floor that was last set. */
export function selectHighestId(
  db: D1Database,
  siteId: number,
): Promise<{ highest: number; floor: number } | undefined> {
  const columns = { highest: HIGHEST_ID.as("highest"), floor: homeSites.chatIdFloor };
  return drizzle(db).select(columns).from(homeSites).where(eq(homeSites.siteId, siteId)).get();
}
