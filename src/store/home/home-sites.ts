import { and, count, eq, getTableColumns, getTableName, inArray, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { ServiceError } from "../../errors.ts";
import type { Runtime } from "../../runtime.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit-log.ts";
import { withRetries } from "../run-batch.ts";
import {
  agents,
  apps,
  customers,
  deliveries,
  events,
  homeSites,
  idempotencyKeys,
  messages,
  nonces,
  participants,
  sessions,
  webhooks,
} from "../schema.ts";
import { newestSessionId } from "./claim.ts";

/** A site as its home knows it. */
export type HomeSite = typeof homeSites.$inferSelect;

/** The highest chat_id that any site may start with: it leaves room for sessions below 2^53. */
export const HIGHEST_FIRST_CHAT_ID = 900_000_000_000_000;

/**
 * Stores a site in its home, unless the same call has done so before.
 *
 * @returns false when the home has another site under this id
 */
export async function insertHomeSite(
  runtime: Runtime,
  db: D1Database,
  site: Omit<HomeSite, "status" | "revision" | "events" | "eventSeqFloor">,
  author: Author,
): Promise<boolean> {
  const store = drizzle(db);
  const same = and(
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
  const batch = () =>
    store.batch([
      store
        .insert(homeSites)
        .values({ ...site, status: "open", revision: 0 })
        .onConflictDoNothing(),
      auditOf(db, author, audited, ONE_ROW, CHANGED),
      store.select({ siteId: homeSites.siteId }).from(homeSites).where(same),
    ]);
  const [, , found] = await withRetries(runtime, batch);
  return found.length === 1;
}

/** The floor of a site must not be lowered, so the change is made only when it is above every id that was given. */
export interface HomeSiteChange {
  name?: string | undefined;
  status?: HomeSite["status"] | undefined;
  chatIdFloor?: number | undefined;
  events?: boolean | undefined;
}

/**
 * Changes a site. The change is whole or nothing: a floor below an id that was given changes nothing.
 *
 * @returns the site as it is now, and its highest id so far; undefined when the home does not have the site
 */
export async function updateHomeSite(
  runtime: Runtime,
  db: D1Database,
  siteId: number,
  { name, status, chatIdFloor, events: isTold }: HomeSiteChange,
  author: Author,
): Promise<(HomeSite & { highestId: number }) | undefined> {
  const store = drizzle(db);
  const highestId = sql<number>`max(${homeSites.chatIdFloor}, ${newestSessionId(homeSites.siteId)})`;
  const named = eq(homeSites.siteId, siteId);
  const allowed = and(named, chatIdFloor === undefined ? undefined : sql`${chatIdFloor} >= ${highestId}`);
  const subject = sql`CAST(${homeSites.siteId} AS TEXT)`;
  const audit = (
    action: Parameters<typeof auditOf>[2]["action"],
    details: ReturnType<typeof sql>,
    changes: ReturnType<typeof sql>,
  ) => auditOf(db, author, { siteId: homeSites.siteId, action, subject, details }, homeSites, and(allowed, changes));
  // The audits run before the update, while the row has its old values. In SQL nothing is unequal to NULL, so a property that the
  // input does not name gets no audit row.
  const batch = () =>
    store.batch([
      audit(
        "site.renamed",
        sql`json_object('from', ${homeSites.name}, 'to', ${name ?? null})`,
        sql`${homeSites.name} <> ${name ?? null}`,
      ),
      audit(
        status === "closed" ? "site.closed" : "site.opened",
        sql`json_object('name', coalesce(${name ?? null}, ${homeSites.name}))`,
        sql`${homeSites.status} <> ${status ?? null}`,
      ),
      audit(
        "site.first_chat_id_set",
        sql`json_object('first_chat_id', ${(chatIdFloor ?? 0) + 1})`,
        sql`${homeSites.chatIdFloor} <> ${chatIdFloor ?? null}`,
      ),
      audit(
        isTold === false ? "site.events_off" : "site.events_on",
        sql`'{}'`,
        sql`${homeSites.events} <> ${isTold === undefined ? null : Number(isTold)}`,
      ),
      store
        .update(homeSites)
        .set({
          name: name ?? sql`${homeSites.name}`,
          status: status ?? sql`${homeSites.status}`,
          chatIdFloor: chatIdFloor ?? sql`${homeSites.chatIdFloor}`,
          events: isTold ?? sql`${homeSites.events}`,
          revision: sql`${homeSites.revision} + 1`,
        })
        .where(allowed),
      store
        .select({ ...getTableColumns(homeSites), highestId: highestId.as("highest_id") })
        .from(homeSites)
        .where(named),
    ]);
  const [, , , , , [site]] = await withRetries(runtime, batch);
  return site;
}

/** A site as its home has it; undefined when the home does not have it. */
export function findHomeSite(db: D1Database, siteId: number): Promise<HomeSite | undefined> {
  return drizzle(db).select().from(homeSites).where(eq(homeSites.siteId, siteId)).get();
}

const TABLES = [
  homeSites,
  apps,
  agents,
  customers,
  sessions,
  participants,
  messages,
  nonces,
  idempotencyKeys,
  events,
  webhooks,
  deliveries,
];

/**
 * Asks whether the home serves.
 *
 * @throws ServiceError `unavailable`, reason `d1_not_migrated`, when a table that signed calls use is missing; what D1 throws
 */
export async function probeHome(db: D1Database): Promise<void> {
  const isOurs = inArray(sql`name`, TABLES.map(getTableName));
  const found = await drizzle(db).select({ tables: count() }).from(sql`sqlite_master`).where(isOurs).get();
  if (found?.tables !== TABLES.length) throw new ServiceError("unavailable", { reason: "d1_not_migrated" });
}
