import { and, asc, eq, exists, gt, isNotNull, lte, max, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { customers, sessions } from "../../../core/store/schema.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { erasures } from "../erasure-schema.ts";
import { eachRow, rowField } from "../json-rows.ts";

/** This file begins erasures, and finds the sessions that they cover. erase-step.ts deletes. */

/** D1 takes 2 MB in one value. */
const IDS_PER_STATEMENT = 100_000;
const KEYS_PER_STATEMENT = 20_000;

/** The state of an erasure. */
export type Erasure = typeof erasures.$inferSelect;

/** An erasure that is under way. */
export type OpenErasure = Erasure & { externalId: string };

export const isOpen = (erasure: Erasure): erasure is OpenErasure => erasure.externalId !== null;

export type ErasureKey = Pick<Erasure, "siteId" | "hash" | "id">;

export const isErasure = ({ siteId, hash, id }: ErasureKey) =>
  and(eq(erasures.siteId, siteId), eq(erasures.hash, hash), eq(erasures.id, id));

export const sessionsUntil = ({ siteId, externalId, until }: Pick<OpenErasure, "siteId" | "externalId" | "until">) =>
  and(eq(sessions.siteId, siteId), eq(sessions.customerExternalId, externalId), lte(sessions.id, until));

/** The row of a new erasure, which is done already without a customer. A SELECT of these values must have the order of the columns. */
const newRow = ({ siteId, hash, id }: ErasureKey, externalId: string | null, until: SQL | number, now: number) => {
  const doneAt = externalId === null ? now : null;
  const total = sql`(SELECT count(*) FROM ${sessions}
    WHERE ${sessions.siteId} = ${siteId} AND ${sessions.customerExternalId} = ${externalId} AND ${sessions.id} <= ${until})`;
  return sql`SELECT ${siteId}, ${hash}, ${id}, ${externalId}, ${until}, 0, ${now}, ${total}, 0, NULL, 0, 0, 0, 0, 0, '{}', ${now}, ${doneAt}`;
};

/**
 * Begins the erasure of a customer, with its row in the audit log, unless one is under way or there is no such customer. An erasure that is
 * under way and has erased nothing yet is begun again when there are newer sessions.
 *
 * @param erasure its id is for a new erasure, and sorts by time
 * @returns the erasure that is under way, or the customer's last one; undefined for a customer who is unknown and was never erased
 */
export async function beginErasure(
  runtime: Runtime,
  db: D1Database,
  erasure: ErasureKey & { externalId: string },
  author: Author,
  answerBy: number,
): Promise<Erasure | undefined> {
  const store = drizzle(db);
  const { siteId, hash, id, externalId } = erasure;
  const isOne = (erasureId: SQL) => and(eq(erasures.siteId, siteId), eq(erasures.id, erasureId));
  const isUnderWay = and(eq(erasures.siteId, siteId), eq(erasures.externalId, externalId));
  const underWay = store.select({ id: erasures.id }).from(erasures).where(isUnderWay).limit(1);
  const isOfCustomer = and(eq(erasures.siteId, siteId), eq(erasures.hash, hash));
  const lastErasureId = store
    .select({ id: max(erasures.id) })
    .from(erasures)
    .where(isOfCustomer);
  const until = sql`coalesce((SELECT max(${sessions.id}) FROM ${sessions} WHERE ${sessions.siteId} = ${siteId}), 0)`;
  const isKnown = sql`EXISTS (SELECT 1 FROM ${customers} WHERE ${customers.siteId} = ${siteId} AND ${customers.externalId} = ${externalId})`;
  const isOfTheirs = and(eq(sessions.siteId, siteId), eq(sessions.customerExternalId, externalId));
  const hasNewer = exists(
    store
      .select()
      .from(sessions)
      .where(and(isOfTheirs, gt(sessions.id, erasures.until))),
  );
  const auditRow = (subject: SQL) => ({
    siteId: sql`${siteId}`,
    action: "customer.erasure_begun" as const,
    subject,
    details: sql`json_object('hash', ${hash}, 'highest_chat_id', ${until})`,
  });
  const batch = () =>
    inOneBatch(db, {
      // A late try inserts nothing: it may come after the end of the erasure, when the customer is back.
      begun: store
        .insert(erasures)
        .select(sql`${newRow(erasure, externalId, until, author.now)} WHERE NOT EXISTS ${underWay} AND ${isKnown}`)
        .onConflictDoNothing(),
      audited: auditOf(db, author, auditRow(sql`${id}`), ONE_ROW, CHANGED),
      begunAnew: store
        .update(erasures)
        .set({
          until,
          // The new list gets another time: otherwise a late part of the old list could replace the same part of the new one in KV.
          listedAt: sql`max(${erasures.listedAt} + 1, ${author.now})`,
          total: sql`(SELECT count(*) FROM ${sessions} WHERE ${isOfTheirs})`,
        })
        .where(and(isOne(sql`${underWay}`), eq(erasures.step, 0), hasNewer)),
      auditedAnew: auditOf(db, author, auditRow(sql`${underWay}`), ONE_ROW, CHANGED),
      found: store
        .select()
        .from(erasures)
        .where(isOne(sql`coalesce(${underWay}, ${lastErasureId})`)),
    });
  const {
    found: [begunErasure],
  } = await withRetries(runtime, batch, answerBy);
  return begunErasure;
}

/** An erasure by its id alone. */
export async function selectErasureById(db: D1Database, siteId: number, id: string): Promise<Erasure | undefined> {
  const isOne = and(eq(erasures.siteId, siteId), eq(erasures.id, id));
  return drizzle(db).select().from(erasures).where(isOne).get();
}

export async function selectLastErasure(db: D1Database, siteId: number, hash: string): Promise<string | undefined> {
  const isOfCustomer = and(eq(erasures.siteId, siteId), eq(erasures.hash, hash));
  const lastErasure = await drizzle(db)
    .select({ id: max(erasures.id) })
    .from(erasures)
    .where(isOfCustomer)
    .get();
  return lastErasure?.id ?? undefined;
}

/** The next chat ids that receipts do not name yet, ascending. */
export async function selectUnlisted(
  db: D1Database,
  erasure: Pick<OpenErasure, "siteId" | "externalId" | "until" | "listedTo">,
  limit: number,
): Promise<number[]> {
  const rows = await drizzle(db)
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(sessionsUntil(erasure), gt(sessions.id, erasure.listedTo)))
    .orderBy(asc(sessions.id))
    .limit(limit)
    .all();
  return rows.map(({ id }) => id);
}

/**
 * Notes up to which id the receipts name the customer's sessions, unless another call did so meanwhile.
 *
 * @returns the erasure as it is now; undefined when the home does not have it any more
 */
export async function noteListed(
  runtime: Runtime,
  db: D1Database,
  { listedTo, step, ...erasure }: Erasure,
  next: number,
  answerBy: number,
): Promise<Erasure | undefined> {
  const store = drizzle(db);
  const isUnchanged = and(isErasure(erasure), eq(erasures.listedTo, listedTo), eq(erasures.step, step));
  const batch = () =>
    inOneBatch(db, {
      changed: store.update(erasures).set({ listedTo: next }).where(isUnchanged),
      now: store.select().from(erasures).where(isErasure(erasure)),
    });
  const {
    now: [now],
  } = await withRetries(runtime, batch, answerBy);
  return now;
}

/** The erasures among these that are done, each as `<site>/<id>`. */
export async function selectDone(db: D1Database, keys: Pick<Erasure, "siteId" | "id">[]): Promise<Set<string>> {
  const { siteId, id } = erasures;
  const isNamed = and(sql`${siteId} = ${rowField("siteId")}`, sql`${id} = ${rowField("id")}`);
  const doneErasures = new Set<string>();
  for (let at = 0; at < keys.length; at += KEYS_PER_STATEMENT) {
    const rows = await drizzle(db)
      .select({ siteId, id })
      .from(eachRow(keys.slice(at, at + KEYS_PER_STATEMENT)))
      .crossJoin(erasures)
      .where(and(isNamed, isNotNull(erasures.doneAt)))
      .all();
    for (const row of rows) doneErasures.add(`${row.siteId}/${row.id}`);
  }
  return doneErasures;
}

/** The customers of these sessions, as far as the home has the sessions. */
export async function selectCustomersOf(db: D1Database, siteId: number, chatIds: number[]): Promise<Set<string>> {
  const customers = new Set<string>();
  for (let at = 0; at < chatIds.length; at += IDS_PER_STATEMENT) {
    const rows = await drizzle(db)
      .selectDistinct({ externalId: sessions.customerExternalId })
      .from(eachRow(chatIds.slice(at, at + IDS_PER_STATEMENT)))
      .crossJoin(sessions)
      .where(and(eq(sessions.siteId, siteId), sql`${sessions.id} = each_row.value`))
      .all();
    for (const { externalId } of rows) customers.add(externalId);
  }
  return customers;
}

/**
 * Gives a restored home an erasure that the restore has undone: under way again when the customer is back, otherwise done. An erasure that
 * the home has is continued in two cases: another part of its receipt has ended it, or it was begun up to a lower id. Its sessions are
 * listed once more, because another restore may bring the same customer back when the first receipts are gone.
 *
 * @returns the erasure as it is now
 */
export async function bringBackErasure(
  runtime: Runtime,
  db: D1Database,
  erasure: ErasureKey & Pick<Erasure, "externalId" | "until">,
  now: number,
): Promise<Erasure | undefined> {
  const store = drizzle(db);
  const { externalId, until } = erasure;
  const batch = () =>
    inOneBatch(db, {
      broughtBack: store
        .insert(erasures)
        .select(sql`${newRow(erasure, externalId, until, now)} WHERE true`)
        .onConflictDoUpdate({
          target: [erasures.siteId, erasures.hash, erasures.id],
          set: {
            externalId,
            until: sql`max(${erasures.until}, excluded.until)`,
            listedTo: 0,
            listedAt: now,
            total: sql`${erasures.sessions} + excluded.total`,
            doneAt: null,
          },
          setWhere: sql`excluded.external_id IS NOT NULL AND (${erasures.doneAt} IS NOT NULL OR excluded.until > ${erasures.until})`,
        }),
      found: store.select().from(erasures).where(isErasure(erasure)),
    });
  const {
    found: [storedErasure],
  } = await withRetries(runtime, batch);
  return storedErasure;
}
