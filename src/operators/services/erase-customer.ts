import { ServiceError } from "../../core/errors.ts";
import { SESSION_EVENT_TYPES } from "../../core/operations/index.ts";
import { newRequestId } from "../../core/request-id.ts";
import { newEventId } from "../../core/signed/event-id.ts";
import { insertReceipts, type Receipt, selectNamed, selectReceipts } from "../store/directory/erasure-receipts.ts";
import type { Site } from "../store/directory/sites.ts";
import { ERASED, type ErasedRows, eraseStep, findStep } from "../store/home/erase-step.ts";
import {
  beginErasure,
  type Erasure,
  isOpen,
  noteListed,
  type OpenErasure,
  selectErasureById,
  selectUnlisted,
} from "../store/home/erasures.ts";
import { writeReceipt } from "../store/kv-erasures.ts";
import { customerHasher } from "./customer-hash.ts";
import { type Recipient, recipientsOf } from "./erasure-recipients.ts";
import { customerUnknown, erasureUnknown } from "./refusals.ts";
import { fromKv } from "./remember-floors.ts";
import { authorOf, homeOf, notifyQueueOf, requireOpenHome, type ServiceContext } from "./service-context.ts";

export type { Receipt } from "../store/directory/erasure-receipts.ts";

/**
 * This file erases customers. The order of writes keeps a restore from bringing anybody back: before the first deletion, receipts in the
 * directory and in KV name the sessions, because a restore of the home does not change these.
 */

/** How many parts of a receipt one call writes. */
const PARTS_PER_CALL = 4;

/** No step begins when less than this is left until the deadline, in milliseconds. */
const LEAST_LEFT_MS = 3_000;

/** How many chat ids one part of a receipt names: D1 takes 2 MB in one value. */
export const CHAT_IDS_PER_PART = 10_000;

/** How many chat ids a receipt for the operator names. The operator sends the receipt back in a body of at most 64 KiB. */
export const CHAT_IDS_PER_RECEIPT = 1_000;

/**
 * A part of a receipt that is older than this is written again before its sessions are deleted. So it is stored for a day longer than Time
 * Travel reaches back.
 */
const RECEIPTS_FRESH_SECONDS = 43_200;

const TIME_TRAVEL_SECONDS = 30 * 86_400;
const IDEMPOTENCY_KEY_SECONDS = 86_400;

/** The receipt of an erasure. */
export interface CustomerErasure {
  id: string;
  /** The numbers of rows that this call has erased. */
  erased: ErasedRows;
  /** The numbers of rows that all calls have erased. */
  erasedSoFar: ErasedRows;
  /** How many sessions remain: another call continues. 0 when the erasure is done. */
  remaining: number;
  recipients: Recipient[];
  /** Unix seconds: until then D1's Time Travel can bring the data back. */
  timeTravelUntil: number;
  /** Unix seconds: by then the last Idempotency-Key of the customer's calls is forgotten. */
  keysUntil: number;
  /** The receipts that the operator keeps. They exist only without KV. */
  receipts: Receipt[] | undefined;
}

const NOTHING_ERASED = Object.fromEntries(ERASED.map((what) => [what, 0])) as ErasedRows;

/**
 * Erases a customer with all sessions that exist at the first call that erases, in bounded steps: call again until `remaining` is 0.
 *
 * @returns `isBack`: whether the customer has newer sessions, which stay
 * @throws ServiceError `not_found`, reason `customer_unknown`, for a customer who is unknown and was never erased; `unavailable`, with
 *   nothing half deleted, when the home or the directory is closed, or a database or KV does not answer
 */
export async function eraseCustomer(
  ctx: ServiceContext,
  { site, sbs: externalId }: { site: Site; sbs: string },
): Promise<CustomerErasure & { isBack: boolean }> {
  const { runtime, answerBy } = ctx;
  requireOpenHome(ctx, site.home);
  const db = homeOf(ctx, site);
  const hash = await (await customerHasher(ctx))(site.id, externalId);
  const key = { siteId: site.id, hash, id: newRequestId(runtime) };
  const begunErasure = await beginErasure(runtime, db, { ...key, externalId }, authorOf(ctx), answerBy);
  if (begunErasure === undefined) throw customerUnknown();
  const erasure = await continueAndAnswer(ctx, site, db, begunErasure);
  const since = { siteId: site.id, externalId, listedTo: begunErasure.until, until: Number.MAX_SAFE_INTEGER };
  return { ...erasure, isBack: (await selectUnlisted(db, since, 1)).length > 0 };
}

/**
 * Continues an erasure by its id, as {@link eraseCustomer} does by the customer. A finished erasure does not change. An erasure that has
 * deleted nothing yet includes newer sessions too.
 *
 * @throws ServiceError `not_found`, reason `erasure_unknown`; `unavailable` as {@link eraseCustomer} does
 */
export async function continueErasure(
  ctx: ServiceContext,
  { site, erasureId }: { site: Site; erasureId: string },
): Promise<CustomerErasure> {
  const { runtime, answerBy } = ctx;
  requireOpenHome(ctx, site.home);
  const db = homeOf(ctx, site);
  const storedErasure = await selectErasureById(db, site.id, erasureId);
  if (storedErasure === undefined) throw erasureUnknown();
  const isUntouched = isOpen(storedErasure) && storedErasure.step === 0;
  const begunErasure = isUntouched
    ? await beginErasure(runtime, db, storedErasure, authorOf(ctx), answerBy)
    : storedErasure;
  return continueAndAnswer(ctx, site, db, begunErasure ?? storedErasure);
}

async function continueAndAnswer(
  ctx: ServiceContext,
  site: Site,
  db: D1Database,
  begunErasure: Erasure,
): Promise<CustomerErasure> {
  const { erasure, erased, toldWebhooks } = await continueStep(ctx, site, db, begunErasure, ctx.answerBy);
  for (const webhook of toldWebhooks) notifyQueueOf(ctx, site, webhook);
  return answerOf(ctx, site, erasure, erased);
}

/** How far an erasure is. @throws ServiceError `not_found`, reason `erasure_unknown` */
export async function readErasure(
  ctx: ServiceContext,
  { site, erasureId }: { site: Site; erasureId: string },
): Promise<CustomerErasure & { sbs: string | null }> {
  const erasure = await selectErasureById(homeOf(ctx, site), site.id, erasureId);
  if (erasure === undefined) throw erasureUnknown();
  return { ...(await answerOf(ctx, site, erasure, NOTHING_ERASED)), sbs: erasure.externalId };
}

interface ErasureProgress {
  erasure: Erasure;
  erased: ErasedRows;
  /** The webhooks that get an event about it. */
  toldWebhooks: string[];
}

/**
 * Continues an erasure: first the receipts, then one step. More would not fit into the 50 queries that Workers Free allows in an
 * invocation.
 *
 * @param hasReceipts whether the operator of a deployment without KV has the receipts already
 * @throws ServiceError `unavailable` also when the home was restored meanwhile and has lost the erasure
 */
export async function continueStep(
  ctx: ServiceContext,
  site: Pick<Site, "id" | "home">,
  db: D1Database,
  begunErasure: Erasure,
  answerBy: number,
  hasReceipts = false,
): Promise<ErasureProgress> {
  const { runtime } = ctx;
  const hasTimeLeft = () => runtime.elapsed() + LEAST_LEFT_MS <= answerBy;
  let erasure = begunErasure;
  const takeStored = (storedErasure: Erasure | undefined) => {
    if (storedErasure === undefined) throw new ServiceError("unavailable", { reason: "erasure_lost", retryAfter: 1 });
    erasure = storedErasure;
  };
  let parts = 0;
  while (isOpen(erasure) && erasure.listedTo < erasure.until && parts < PARTS_PER_CALL && hasTimeLeft()) {
    takeStored(await listSome(ctx, site, db, erasure, answerBy));
    parts++;
  }
  // The operator must get the receipts before anything is deleted.
  const mustWait = parts === PARTS_PER_CALL || (parts > 0 && !hasReceipts && areKeptByOperator(ctx));
  if (!isOpen(erasure) || erasure.listedTo < erasure.until || mustWait || !hasTimeLeft()) {
    return { erasure, erased: NOTHING_ERASED, toldWebhooks: [] };
  }
  const nextStep = await findStep(runtime, db, erasure, SESSION_EVENT_TYPES, answerBy);
  await nameAgain(ctx, site, db, erasure, nextStep.chatIds, answerBy);
  const step = await eraseStep(runtime, db, erasure, nextStep, newEventId(runtime), authorOf(ctx), answerBy);
  takeStored(step.erasure);
  return { erasure, erased: step.erased, toldWebhooks: step.toldWebhooks };
}

/**
 * Writes the next part of the receipt, and then notes in the home that it is written.
 *
 * @returns the erasure as it is now
 * @throws ServiceError `unavailable` when the directory or KV does not store it
 */
async function listSome(
  ctx: ServiceContext,
  site: Pick<Site, "id" | "home">,
  db: D1Database,
  erasure: OpenErasure,
  answerBy: number,
): Promise<Erasure | undefined> {
  const chatIds = await selectUnlisted(db, erasure, CHAT_IDS_PER_PART);
  await writePart(ctx, site, erasure, chatIds, answerBy);
  const isLast = chatIds.length < CHAT_IDS_PER_PART;
  const listedTo = isLast ? erasure.until : (chatIds.at(-1) ?? erasure.until);
  return noteListed(ctx.runtime, db, erasure, listedTo, answerBy);
}

/** Writes a part of the receipt once more, when the directory has lost it, or when it is too old for the sessions that are deleted now. */
async function nameAgain(
  ctx: ServiceContext,
  site: Pick<Site, "id" | "home">,
  db: D1Database,
  erasure: OpenErasure,
  chatIds: number[],
  answerBy: number,
): Promise<void> {
  const { runtime, config, now } = ctx;
  const [from, to] = [chatIds[0], chatIds.at(-1)];
  if (from === undefined || to === undefined) return;
  const erasureKey = { home: site.home, siteId: site.id, erasureId: erasure.id };
  const range = { from, to, since: now - RECEIPTS_FRESH_SECONDS };
  const namedChatIds = await selectNamed(runtime, config.directory, erasureKey, range, answerBy);
  if (chatIds.every((id) => namedChatIds.has(id))) return;
  const next = await selectUnlisted(db, { ...erasure, listedTo: from - 1 }, CHAT_IDS_PER_PART);
  await writePart(ctx, site, { ...erasure, listedAt: now }, next, answerBy);
}

/** Writes a part of the receipt into KV, and then into the directory. So KV has every part that the directory has. */
async function writePart(
  ctx: ServiceContext,
  { id: siteId, home }: Pick<Site, "id" | "home">,
  { id: erasureId, hash, until, listedTo, listedAt }: OpenErasure,
  chatIds: number[],
  answerBy: number,
): Promise<void> {
  const { runtime, config, now } = ctx;
  const receipt = { home, siteId, erasureId, hash, until, listedAt, chatIds, firstChatId: chatIds[0] ?? listedTo };
  await fromKv(ctx)(() => writeReceipt(config.credentials, receipt));
  await insertReceipts(runtime, config.directory, [receipt], now, answerBy);
}

/** Whether the operator keeps receipts: without KV, restoring the directory and a home together could undo everything that is stored. */
export const areKeptByOperator = ({ config }: Pick<ServiceContext, "config">): boolean =>
  config.credentials === undefined;

async function answerOf(
  ctx: ServiceContext,
  site: Site,
  erasure: Erasure,
  erased: ErasedRows,
): Promise<CustomerErasure> {
  const { id: erasureId, total, doneAt } = erasure;
  const endedAt = doneAt ?? ctx.now;
  const { home, id: siteId } = site;
  const receipts = areKeptByOperator(ctx)
    ? (await selectReceipts(ctx.config.directory, { home, siteId, erasureId })).flatMap(splitReceipt)
    : undefined;
  return {
    id: erasureId,
    erased,
    erasedSoFar: Object.fromEntries(ERASED.map((what) => [what, erasure[what]])) as ErasedRows,
    remaining: isOpen(erasure) ? Math.max(1, total - erasure.sessions) : 0,
    recipients: await recipientsOf(ctx, site, erasure),
    timeTravelUntil: endedAt + TIME_TRAVEL_SECONDS,
    keysUntil: endedAt + IDEMPOTENCY_KEY_SECONDS,
    receipts,
  };
}

/** Divides a part of a list into receipts that the operator can send back. */
function splitReceipt(part: Receipt): Receipt[] {
  const receipts: Receipt[] = [];
  for (let at = 0; at === 0 || at < part.chatIds.length; at += CHAT_IDS_PER_RECEIPT) {
    receipts.push({ ...part, chatIds: part.chatIds.slice(at, at + CHAT_IDS_PER_RECEIPT) });
  }
  return receipts;
}
