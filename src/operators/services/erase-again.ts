import * as z from "zod/mini";
import { positiveId } from "../../core/fields.ts";
import { isOutOfCalls } from "../../core/store/run-batch.ts";
import { insertReceipts, selectReceiptKeys, selectReceipts } from "../store/directory/erasure-receipts.ts";
import { selectHomesOf } from "../store/directory/sites.ts";
import { bringBackErasure, isOpen, selectCustomersOf, selectDone, selectErasureById } from "../store/home/erasures.ts";
import { type ListedReceipt, listReceipts, readReceipt } from "../store/kv-erasures.ts";
import { type HashCheck, hashCheck } from "./customer-hash.ts";
import { CHAT_IDS_PER_RECEIPT, continueStep } from "./erase-customer.ts";
import { fromKv } from "./remember-floors.ts";
import type { ServiceContext } from "./service-context.ts";

/** This file erases again, in a restored home, the customers that the restore brought back. */

const ID = /^[0-9a-f-]{36}$/;
const HASH = /^[0-9a-f]{8}\.[0-9a-f]{64}$/;

/** A receipt that an operator kept, as the answer to the erasure gave it. */
const keptReceiptSchema = z.strictObject({
  erasure_id: z.string().check(z.regex(ID, "must be an erasure_id")),
  site_id: positiveId,
  hash: z.string().check(z.regex(HASH, "must be the hash of a receipt")),
  highest_chat_id: z.int().check(z.minimum(0)),
  chat_ids: z.array(positiveId).check(z.maxLength(CHAT_IDS_PER_RECEIPT)),
});

export const keptReceiptsSchema = z.array(keptReceiptSchema);

export type KeptReceipt = z.infer<typeof keptReceiptSchema>;

/** A part of a receipt, in the directory or in KV. Somebody who can write to KV could make one up or damage one. */
type ReceiptPart = ListedReceipt & { isTrusted: boolean };

/** How far the repeated erasures are. */
export interface RepeatedErasures {
  /** How many erasures were carried out again, because their customer was brought back. */
  done: number;
  /** How many are not finished: the same call sent again continues. The home must stay closed until this is 0. */
  left: number;
}

interface RestoredHome {
  home: string;
  db: D1Database;
}

/**
 * Carries out again the erasures that a restored home has lost. Their receipts are in the directory, in KV or with the operator. An erasure
 * that the home has as done is skipped, unless the operator sends its receipt.
 *
 * @param siteIds the sites of the home
 * @param answerBy no erasure begins after it, in milliseconds of the runtime's `elapsed`
 * @throws ServiceError `unavailable` when the directory, the home or KV does not answer
 */
export async function eraseAgain(
  ctx: ServiceContext,
  { home, db, siteIds }: RestoredHome & { siteIds: Set<number> },
  keptReceipts: readonly KeptReceipt[],
  answerBy: number,
): Promise<RepeatedErasures> {
  await keepInDirectory(ctx, home, keptReceipts, answerBy);
  const due = await dueErasures(ctx, { home, db, siteIds }, keptReceipts);
  const check = due.length === 0 ? undefined : await hashCheck(ctx);
  const erasedAgain: RepeatedErasures = { done: 0, left: 0 };
  let isOver = false;
  for (const parts of due) {
    isOver ||= ctx.runtime.elapsed() >= answerBy;
    let outcome: ErasureOutcome = "left";
    try {
      if (!isOver && check !== undefined) outcome = await eraseOneAgain(ctx, { home, db }, parts, check, answerBy);
    } catch (error) {
      if (!isOutOfCalls(error)) throw error;
      isOver = true;
    }
    if (outcome !== "nothing") erasedAgain[outcome]++;
  }
  return erasedAgain;
}

/**
 * Stores the operator's receipts in the directory, each for the home of its site, so that the next call can continue. A restored directory
 * may not know a site: then the home is the restored one.
 */
async function keepInDirectory(
  ctx: ServiceContext,
  home: string,
  keptReceipts: readonly KeptReceipt[],
  answerBy: number,
): Promise<void> {
  if (keptReceipts.length === 0) return;
  const { runtime, config, now } = ctx;
  const homes = await selectHomesOf(
    config.directory,
    keptReceipts.map((each) => each.site_id),
  );
  const receipts = keptReceipts.map((each) => ({
    home: homes.get(each.site_id) ?? home,
    siteId: each.site_id,
    erasureId: each.erasure_id,
    hash: each.hash,
    until: each.highest_chat_id,
    listedAt: 0,
    firstChatId: each.chat_ids[0] ?? 0,
    chatIds: each.chat_ids,
  }));
  await insertReceipts(runtime, config.directory, receipts, now, answerBy);
}

/** The parts of each erasure that is not done in the home, or whose receipt the operator sends; the oldest first. */
async function dueErasures(
  ctx: ServiceContext,
  { home, db, siteIds }: RestoredHome & { siteIds: Set<number> },
  keptReceipts: readonly KeptReceipt[],
): Promise<[ReceiptPart, ...ReceiptPart[]][]> {
  const { directory, credentials } = ctx.config;
  const parts: ReceiptPart[] = [
    // A restored directory may lack receipts, so KV is read too.
    ...(await selectReceiptKeys(directory, home)).map((key) => ({ ...key, isTrusted: true })),
    ...(await listReceipts(credentials, home, fromKv(ctx))).map((key) => ({ ...key, isTrusted: false })),
  ].filter(({ siteId }) => siteIds.has(siteId));
  const doneErasures = await selectDone(
    db,
    parts.map(({ siteId, erasureId: id }) => ({ siteId, id })),
  );
  // The operator sends a long list in parts, so another part may already have made the erasure `done`.
  for (const { site_id: siteId, erasure_id: erasureId } of keptReceipts)
    doneErasures.delete(nameOf({ siteId, erasureId }));
  const due: [ReceiptPart, ...ReceiptPart[]][] = [];
  for (const [first, ...others] of Map.groupBy(parts, nameOf).values()) {
    if (first !== undefined && !doneErasures.has(nameOf(first))) due.push([first, ...others]);
  }
  return due.sort(([a], [b]) => (a.erasureId < b.erasureId ? -1 : 1));
}

const nameOf = ({ siteId, erasureId }: Pick<ReceiptPart, "siteId" | "erasureId">) => `${siteId}/${erasureId}`;

/** The result of an erasure: `nothing` when no customer was brought back. */
type ErasureOutcome = "done" | "left" | "nothing";

async function eraseOneAgain(
  ctx: ServiceContext,
  { home, db }: RestoredHome,
  parts: [ReceiptPart, ...ReceiptPart[]],
  check: HashCheck,
  answerBy: number,
): Promise<ErasureOutcome> {
  const [{ siteId, erasureId }] = parts;
  const leave = (warning: string): ErasureOutcome => {
    ctx.telemetry.warn({ warning: `${warning}: nothing was erased for it`, home, site: siteId, erasure: erasureId });
    return "left";
  };
  const chatIdsByErasure = await namedBy(ctx, parts);
  if (chatIdsByErasure === undefined) return leave("a receipt in KV cannot be read");
  const { hash, until, isTrusted } = chatIdsByErasure;
  const storedErasure = await selectErasureById(db, siteId, erasureId);
  const isSound = isTrusted || chatIdsByErasure.chatIds.every((id) => id <= until);
  if (!isSound || (storedErasure ?? { hash }).hash !== hash) return leave("a receipt contradicts itself");
  const isKeyKnown = (await check(hash, siteId, "")) !== undefined;
  // Without the key nobody can check whose hash it is. Then only the sessions that the directory names count.
  const chatIds = isTrusted && !isKeyKnown ? chatIdsByErasure.trusted : chatIdsByErasure.chatIds;
  const customers = await selectCustomersOf(db, siteId, chatIds);
  if (!isTrusted && !isKeyKnown && customers.size > 0) return leave("a receipt in KV has a hash of an unknown key");
  const chatIdsOfCustomer: string[] = [];
  for (const each of customers) {
    // A home that was opened before it was settled may have given an id twice, so the session may be another customer's.
    if (!isKeyKnown || (await check(hash, siteId, each)) === true) chatIdsOfCustomer.push(each);
  }
  const [externalId = null, another] = chatIdsOfCustomer;
  if (another !== undefined) return leave("a receipt has a hash of an unknown key, and several customers its sessions");
  const key = { siteId, hash, id: erasureId };
  let progress = await bringBackErasure(ctx.runtime, db, { ...key, externalId, until }, ctx.now);
  if (progress === undefined || !isOpen(progress)) return "nothing";
  while (isOpen(progress) && ctx.runtime.elapsed() < answerBy) {
    const before = progress;
    progress = (await continueStep(ctx, { id: siteId, home }, db, progress, answerBy, true)).erasure;
    // The time was too short for another step.
    if (progress.step === before.step && progress.listedTo === before.listedTo) break;
  }
  return isOpen(progress) ? "left" : "done";
}

/** What the parts of a receipt say together. */
interface ReceiptContent {
  hash: string;
  until: number;
  chatIds: number[];
  /** The chat ids that the directory names. */
  trusted: number[];
  /** Whether the directory has any part. Then the directory decides, and KV only adds chat ids. */
  isTrusted: boolean;
}

/** @returns undefined when KV has lost or damaged a part */
async function namedBy(
  ctx: ServiceContext,
  parts: [ReceiptPart, ...ReceiptPart[]],
): Promise<ReceiptContent | undefined> {
  const { directory, credentials } = ctx.config;
  const [{ home, siteId, erasureId, isTrusted }] = parts;
  const storedReceipts = await selectReceipts(directory, { home, siteId, erasureId });
  const trusted = storedReceipts.flatMap((receipt) => receipt.chatIds);
  const chatIds = new Set(trusted);
  for (const part of parts) {
    const isSame = (each: ListedReceipt) => each.listedAt === part.listedAt && each.firstChatId === part.firstChatId;
    if (storedReceipts.some(isSame)) continue;
    const ids = await readReceipt(credentials, part, fromKv(ctx));
    if (ids === undefined) return undefined;
    for (const id of ids) chatIds.add(id);
  }
  const trustedParts = isTrusted ? storedReceipts : parts;
  const [hash] = new Set(trustedParts.map((part) => part.hash));
  const isReadable = trustedParts.every((part) => part.hash === hash) && HASH.test(hash ?? "") && ID.test(erasureId);
  if (!isReadable || hash === undefined) return undefined;
  // When an erasure was begun again, a later part covers newer sessions, and a restored directory may lack that part.
  const until = Math.max(...parts.flatMap((part) => (part.hash === hash ? (part.until ?? []) : [])));
  return { hash, until, chatIds: [...chatIds], trusted, isTrusted };
}
