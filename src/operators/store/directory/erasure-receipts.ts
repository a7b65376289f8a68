import { and, asc, eq, gte, lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { erasureReceipts, siteDeletions } from "../erasure-schema.ts";
import { eachRow, rowField } from "../json-rows.ts";

/** A part of the list of sessions that an erasure deletes. */
export type Receipt = Omit<typeof erasureReceipts.$inferSelect, "at">;

/**
 * Stores parts of receipts, except those of sites whose deletion is done. A part that is stored again is kept for longer and gets the
 * longer list.
 *
 * @param now Unix seconds
 */
export async function insertReceipts(
  runtime: Runtime,
  directory: D1Database,
  receipts: readonly Receipt[],
  now: number,
  answerBy: number,
): Promise<void> {
  const { home, siteId, erasureId, listedAt, firstChatId, until, chatIds } = erasureReceipts;
  // Both lists begin with the same session of the customer, so the longer list contains the shorter one.
  const isLonger = sql`json_array_length(excluded.chat_ids) > json_array_length(${chatIds})`;
  const rows = receipts.map((receipt) => ({ ...receipt, chatIds: JSON.stringify(receipt.chatIds) }));
  const columns = ["home", "siteId", "erasureId", "listedAt", "firstChatId"].map(rowField);
  const values = sql.join([...columns, sql`${now}`, ...["hash", "until", "chatIds"].map(rowField)], sql`, `);
  const isGone = sql`EXISTS (SELECT 1 FROM ${siteDeletions} WHERE ${siteDeletions.siteId} = ${rowField("siteId")}
    AND ${siteDeletions.home} = ${rowField("home")} AND ${siteDeletions.doneAt} IS NOT NULL)`;
  const insert = () =>
    drizzle(directory)
      .insert(erasureReceipts)
      .select(sql`SELECT ${values} FROM ${eachRow(rows)} WHERE NOT ${isGone}`)
      .onConflictDoUpdate({
        target: [home, siteId, erasureId, listedAt, firstChatId],
        set: {
          at: now,
          until: sql`max(${until}, excluded.until)`,
          chatIds: sql`iif(${isLonger}, excluded.chat_ids, ${chatIds})`,
        },
      })
      .run();
  await withRetries(runtime, insert, answerBy);
}

const isOf = ({ home, siteId, erasureId }: Pick<Receipt, "home" | "siteId" | "erasureId">) => {
  const isOfErasure = and(eq(erasureReceipts.siteId, siteId), eq(erasureReceipts.erasureId, erasureId));
  return and(eq(erasureReceipts.home, home), isOfErasure);
};

const COLUMNS = {
  home: erasureReceipts.home,
  siteId: erasureReceipts.siteId,
  erasureId: erasureReceipts.erasureId,
  listedAt: erasureReceipts.listedAt,
  firstChatId: erasureReceipts.firstChatId,
  hash: erasureReceipts.hash,
  until: erasureReceipts.until,
};

/** The parts of a home's erasures, without their chat ids. */
export type ReceiptKey = Omit<Receipt, "chatIds">;

export function selectReceiptKeys(directory: D1Database, home: string): Promise<ReceiptKey[]> {
  return drizzle(directory).select(COLUMNS).from(erasureReceipts).where(eq(erasureReceipts.home, home)).all();
}

/**
 * The chat ids of those parts of an erasure that have ids in a range and were stored since a time.
 *
 * @param range `from` and `to` are chat ids, both included; `since` in Unix seconds
 */
export async function selectNamed(
  runtime: Runtime,
  directory: D1Database,
  erasureKey: Pick<Receipt, "home" | "siteId" | "erasureId">,
  { from, to, since }: { from: number; to: number; since: number },
  answerBy: number,
): Promise<Set<number>> {
  const { chatIds, firstChatId, at } = erasureReceipts;
  const isNear = and(lte(firstChatId, to), sql`${chatIds} ->> '$[#-1]' >= ${from}`);
  const select = () =>
    drizzle(directory)
      .select({ chatIds })
      .from(erasureReceipts)
      .where(and(isOf(erasureKey), gte(at, since), isNear))
      .all();
  const parts = await withRetries(runtime, select, answerBy);
  return new Set(parts.flatMap((part) => part.chatIds));
}

/** The parts of one erasure, in order. */
export function selectReceipts(
  directory: D1Database,
  erasureKey: Pick<Receipt, "home" | "siteId" | "erasureId">,
): Promise<Receipt[]> {
  const columns = { ...COLUMNS, chatIds: erasureReceipts.chatIds };
  return drizzle(directory)
    .select(columns)
    .from(erasureReceipts)
    .where(isOf(erasureKey))
    .orderBy(asc(erasureReceipts.listedAt), asc(erasureReceipts.firstChatId))
    .all();
}
