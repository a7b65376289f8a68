import { and, asc, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../runtime.ts";
import { erasureReceipts } from "../erasure-schema.ts";
import { each } from "../json-rows.ts";
import { withRetries } from "../run-batch.ts";

/** A part of the list of sessions that an erasure deletes. */
export type Receipt = Omit<typeof erasureReceipts.$inferSelect, "at">;

/** Stores a part. Stored again, it is kept for longer. @param now Unix seconds */
export async function insertReceipt(
  runtime: Runtime,
  directory: D1Database,
  receipt: Receipt,
  now: number,
  answerBy: number,
): Promise<void> {
  const { home, siteId, erasureId, listedAt, firstChatId } = erasureReceipts;
  const insert = () =>
    drizzle(directory)
      .insert(erasureReceipts)
      .values({ ...receipt, at: now })
      .onConflictDoUpdate({
        target: [home, siteId, erasureId, listedAt, firstChatId],
        set: { at: now },
      })
      .run();
  await withRetries(runtime, insert, answerBy);
}

const isOf = ({ home, siteId, erasureId }: Pick<Receipt, "home" | "siteId" | "erasureId">) => {
  const isIts = and(eq(erasureReceipts.siteId, siteId), eq(erasureReceipts.erasureId, erasureId));
  return and(eq(erasureReceipts.home, home), isIts);
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

/** Whether the receipts of an erasure name all of these sessions. */
export async function areNamed(
  runtime: Runtime,
  directory: D1Database,
  which: Pick<Receipt, "home" | "siteId" | "erasureId">,
  chatIds: number[],
  answerBy: number,
): Promise<boolean> {
  const named = drizzle(directory)
    .select({ id: sql`named.value` })
    .from(sql`${erasureReceipts} CROSS JOIN json_each(${erasureReceipts.chatIds}) AS named`)
    .where(isOf(which));
  const count = () =>
    drizzle(directory)
      .select({ unnamed: sql<number>`count(*)` })
      .from(each(chatIds))
      .where(sql`each_row.value NOT IN ${named}`)
      .get();
  return (await withRetries(runtime, count, answerBy))?.unnamed === 0;
}

/** The parts of one erasure, in order. */
export function selectReceipts(
  directory: D1Database,
  which: Pick<Receipt, "home" | "siteId" | "erasureId">,
): Promise<Receipt[]> {
  const columns = { ...COLUMNS, chatIds: erasureReceipts.chatIds };
  return drizzle(directory)
    .select(columns)
    .from(erasureReceipts)
    .where(isOf(which))
    .orderBy(asc(erasureReceipts.listedAt), asc(erasureReceipts.firstChatId))
    .all();
}
