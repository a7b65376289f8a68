import * as z from "zod/mini";
import { positiveId } from "../fields.ts";
import { selectReceiptKeys, selectReceipts } from "../store/directory/erasure-receipts.ts";
import { bringBackErasure, isOpen, selectCustomersOf, selectDone, selectErasure } from "../store/home/erasures.ts";
import { type ListedReceipt, listReceipts, readReceipt } from "../store/kv-erasures.ts";
import { isOutOfCalls } from "../store/run-batch.ts";
import { type HashCheck, hashCheck } from "./customer-hash.ts";
import { CHAT_IDS_PER_RECEIPT, goOn } from "./erase-customer.ts";
import { fromKv } from "./remember-floors.ts";
import type { ServiceContext } from "./service-context.ts";

/** Erasing again, in a restored home, whom the restore has brought back. */

/** A receipt that an operator kept: as the erasure's answer had it. */
const keptReceiptSchema = z.strictObject({
  erasure_id: z.string().check(z.regex(/^[0-9a-f-]{36}$/, "must be an erasure_id")),
  site_id: positiveId,
  hash: z.string().check(z.regex(/^[0-9a-f]{8}\.[0-9a-f]{64}$/, "must be the hash of a receipt")),
  highest_chat_id: z.int().check(z.minimum(0)),
  chat_ids: z.array(positiveId).check(z.maxLength(CHAT_IDS_PER_RECEIPT)),
});

export const keptReceiptsSchema = z.array(keptReceiptSchema);

export type KeptReceipt = z.infer<typeof keptReceiptSchema>;

/** A part of a receipt, wherever it is kept. Somebody who can write KV could make one up, or spoil one. */
type Part = ListedReceipt & { chatIds?: number[]; isTrusted: boolean };

/** How far erasing again is. */
export interface ErasedAgain {
  /** How many erasures were carried out again, because their customer was back. */
  done: number;
  /** How many are not: the same call again goes on. The home must stay closed until it is 0. */
  left: number;
}

/**
 * Carries out again what a restored home has forgotten of its erasures, as the receipts in the directory, in KV and with the operator
 * say. An erasure that the home remembers is not looked at again.
 *
 * @param siteIds the sites of the home
 * @param answerBy no erasure begins after it, in milliseconds of the runtime's `elapsed`
 * @throws ServiceError `unavailable` when the directory, the home or KV does not answer
 */
export async function eraseAgain(
  ctx: ServiceContext,
  { home, db, siteIds }: { home: string; db: D1Database; siteIds: Set<number> },
  kept: readonly KeptReceipt[],
  answerBy: number,
): Promise<ErasedAgain> {
  const due = await dueErasures(ctx, { home, db, siteIds }, kept);
  const check = due.length === 0 ? undefined : await hashCheck(ctx);
  const again: ErasedAgain = { done: 0, left: 0 };
  let isOver = false;
  for (const parts of due) {
    isOver ||= ctx.runtime.elapsed() >= answerBy;
    let outcome: Outcome = "left";
    try {
      if (!isOver && check !== undefined) outcome = await carryOut(ctx, { home, db }, parts, check, answerBy);
    } catch (error) {
      if (!isOutOfCalls(error)) throw error;
      isOver = true;
    }
    if (outcome !== "nothing") again[outcome]++;
  }
  return again;
}

/** The parts of each erasure that the home does not have as done, the oldest first. */
async function dueErasures(
  ctx: ServiceContext,
  { home, db, siteIds }: { home: string; db: D1Database; siteIds: Set<number> },
  kept: readonly KeptReceipt[],
): Promise<[Part, ...Part[]][]> {
  const { directory, credentials } = ctx.config;
  const parts: Part[] = [
    ...kept.map((each) => ({
      ...{ home, siteId: each.site_id, erasureId: each.erasure_id, hash: each.hash, until: each.highest_chat_id },
      ...{ listedAt: 0, firstChatId: each.chat_ids[0] ?? 0, chatIds: each.chat_ids, isTrusted: true },
    })),
    // A restored directory has only what it had at that time.
    ...(await selectReceiptKeys(directory, home)).map((key) => ({ ...key, isTrusted: true })),
    ...(await listReceipts(credentials, home, fromKv(ctx))).map((key) => ({ ...key, isTrusted: false })),
  ].filter(({ siteId }) => siteIds.has(siteId));
  const done = await selectDone(
    db,
    parts.map(({ siteId, erasureId: id }) => ({ siteId, id })),
  );
  const due: [Part, ...Part[]][] = [];
  for (const [first, ...others] of Map.groupBy(parts, nameOf).values()) {
    if (first !== undefined && !done.has(nameOf(first))) due.push([first, ...others]);
  }
  return due.sort(([a], [b]) => (a.erasureId < b.erasureId ? -1 : 1));
}

const nameOf = ({ siteId, erasureId }: Pick<Part, "siteId" | "erasureId">) => `${siteId}/${erasureId}`;

/** What became of an erasure: `nothing` when nobody was back. */
type Outcome = "done" | "left" | "nothing";

async function carryOut(
  ctx: ServiceContext,
  { home, db }: { home: string; db: D1Database },
  parts: [Part, ...Part[]],
  check: HashCheck,
  answerBy: number,
): Promise<Outcome> {
  const [{ siteId, erasureId, hash, until = 0, isTrusted }] = parts;
  const leave = (warning: string): Outcome => {
    ctx.telemetry.warn({ warning, home, site: siteId, erasure: erasureId });
    return "left";
  };
  const chatIds = await chatIdsOf(ctx, parts);
  if (hash === undefined || chatIds === undefined) return leave("a receipt in KV cannot be read");
  const isSound =
    chatIds.every((id) => id <= until) && parts.every((part) => part.hash === hash && part.until === until);
  if (!isTrusted && !isSound) return leave("a receipt in KV contradicts itself: nothing was erased for it");
  const theirs: string[] = [];
  for (const found of await selectCustomersOf(db, siteId, chatIds)) {
    const isTheirs = await check(hash, siteId, found);
    if (isTheirs === undefined && !isTrusted) {
      return leave("a receipt in KV has a hash of an unknown key: nothing was erased for it");
    }
    // An id that was given twice, because a home was opened unsettled, may be another customer's.
    if (isTheirs !== false) theirs.push(found);
  }
  const [externalId = null, another] = theirs;
  if (another !== undefined) {
    return leave(
      "a receipt has a hash of an unknown key, and several customers have its sessions: nothing was erased for it",
    );
  }
  const key = { siteId, hash, id: erasureId };
  // Other parts of the list may come with another call, and name sessions that the home has.
  const isPart = externalId === null && parts.some((part) => part.chatIds !== undefined);
  let progress = isPart
    ? await selectErasure(db, key)
    : await bringBackErasure(ctx.runtime, db, { ...key, externalId, until }, ctx.now);
  if (progress === undefined || !isOpen(progress)) return "nothing";
  while (isOpen(progress) && ctx.runtime.elapsed() < answerBy) {
    const before = progress;
    progress = (await goOn(ctx, { id: siteId, home }, db, progress, answerBy, true)).erasure;
    // Too little time for another step.
    if (progress.step === before.step && progress.listedTo === before.listedTo) break;
  }
  return isOpen(progress) ? "left" : "done";
}

/** @returns undefined when KV has lost or spoilt a part */
async function chatIdsOf(ctx: ServiceContext, parts: [Part, ...Part[]]): Promise<number[] | undefined> {
  const { directory, credentials } = ctx.config;
  const [{ home, siteId, erasureId }] = parts;
  const stored = await selectReceipts(directory, { home, siteId, erasureId });
  const chatIds = new Set(stored.flatMap((receipt) => receipt.chatIds));
  for (const part of parts) {
    const isSame = (each: ListedReceipt) => each.listedAt === part.listedAt && each.firstChatId === part.firstChatId;
    if (part.chatIds === undefined && stored.some(isSame)) continue;
    const ids = part.chatIds ?? (await readReceipt(credentials, part, fromKv(ctx)));
    if (ids === undefined) return undefined;
    for (const id of ids) chatIds.add(id);
  }
  return [...chatIds];
}
