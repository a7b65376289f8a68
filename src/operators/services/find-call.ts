import { invalidInput, ServiceError, STATUS_OF } from "../../core/errors.ts";
import { OPERATIONS } from "../../core/operations/index.ts";
import { REQUEST_ID, timeOfRequest } from "../../core/request-id.ts";
import { NONCE_SECONDS } from "../../core/signed/kv-nonces.ts";
import { codeOfReason } from "../../core/signed/refusal-reasons.ts";
import { databaseFault } from "../../core/store/run-batch.ts";
import type { Site } from "../store/directory/sites.ts";
import {
  type Refusal,
  type StoredCall,
  selectCall,
  selectRefusal,
  selectRefusalsAround,
  selectSiteOfCall,
} from "../store/home/refusals.ts";
import { askHomes } from "./ask-homes.ts";
import { withUnbound } from "./health.ts";
import { CLOCKS_DIFFER } from "./journal.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";
import { findSite } from "./sites.ts";

export interface AcceptedCall {
  /** `repeated`: an earlier call under the same Idempotency-Key was accepted, and its answer was given again. */
  outcome: "ok" | "repeated";
  sessionId: number;
  at: number;
  appid: string;
  /** The operation's name. */
  operation: string;
}

/**
 * A call by its id: an accepted or a refused one. A refused call with a `sessionId` was carried out: its batch was committed, although the
 * answer was 503.
 */
export type FoundCall =
  | { refusal: Refusal; sessionId: number | null; accepted?: undefined }
  | { accepted: AcceptedCall; refusal?: undefined };

/** @throws ServiceError `invalid_input` naming `request_id` */
function checkRequestId(requestId: string): string {
  const lower = requestId.trim().toLowerCase();
  if (REQUEST_ID.test(lower)) return lower;
  throw invalidInput([{ field: "request_id", message: "must be a request id, as x-request-id gives it" }]);
}

const callUnknown = () =>
  new ServiceError("not_found", { reason: "call_unknown", detail: "No call with this request id is known here." });

/**
 * A call of a site by its request id. A refused call is found while the journal has it. An accepted call that opened a session is found
 * while the session exists. Any other accepted call is found for 31 minutes, while its nonce is stored.
 *
 * @throws ServiceError `invalid_input` for a malformed id; `not_found`
 */
export async function findCall(
  ctx: ServiceContext,
  { site, requestId }: { site: Site; requestId: string },
): Promise<FoundCall> {
  const id = checkRequestId(requestId);
  const mayHaveNonce = ctx.now <= timeOfRequest(id) + NONCE_SECONDS + CLOCKS_DIFFER;
  const foundCall = foundIn(ctx, await selectCall(homeOf(ctx, site), site.id, id, mayHaveNonce), site.id, id);
  if (foundCall === undefined) throw callUnknown();
  return foundCall;
}

/** The operation that opens sessions. When the nonce is gone, only the session shows that the call was made. */
const OPENING = OPERATIONS.find(({ eventType }) => eventType === "session.created")?.name ?? "";

function foundIn(
  ctx: ServiceContext,
  { refusal, session, nonce }: StoredCall,
  siteId: number,
  requestId: string,
): FoundCall | undefined {
  if (refusal !== undefined) return { refusal, sessionId: session?.id ?? nonce?.sessionId ?? null };
  const at = timeOfRequest(requestId);
  if (nonce !== undefined && nonce.sessionId !== null) {
    const { appid, sessionId, operation } = nonce;
    const outcome = nonce.outcome === "repeated" ? "repeated" : "ok";
    return { accepted: { outcome, sessionId, at, appid, operation } };
  }
  if (session !== undefined) {
    const { id: sessionId, appid } = session;
    return { accepted: { outcome: "ok", sessionId, at, appid, operation: OPENING } };
  }
  return nonce && { refusal: refusalOf(ctx, nonce, siteId, requestId), sessionId: null };
}

/** A refusal by the database whose row is not in the journal: it is on its way, or was lost. The nonce has the reason of the refusal. */
function refusalOf(
  { config }: ServiceContext,
  { appid, operation, outcome, secret }: NonNullable<StoredCall["nonce"]>,
  siteId: number,
  requestId: string,
): Refusal {
  const status = config.alwaysStatus200 ? 200 : STATUS_OF[codeOfReason(outcome)];
  return {
    siteId,
    requestId,
    at: timeOfRequest(requestId),
    appid,
    operation,
    status,
    reason: outcome,
    detail: null,
    violations: null,
    secret,
    client: null,
    skipped: 0,
    drill: null,
  };
}

/**
 * The refused call with this id, on any site that the operator sees. Asks every home that may have it.
 *
 * @throws ServiceError `invalid_input` for a malformed id; `not_found` when all homes answered; `unavailable` with `homesDown` when no home
 *   that answered has it, and some did not answer
 */
export async function findRefusal(ctx: ServiceContext, requestId: string): Promise<Refusal> {
  const id = checkRequestId(requestId);
  const siteId = ctx.identity?.onlySite;
  const site = siteId === undefined ? undefined : await findSite(ctx, { siteId });
  const { answers, silentHomes } = await askJournals(ctx, site, async (db) => (await selectRefusal(db, id)) ?? null);
  const foundRefusal = answers.find((refusal) => refusal !== null);
  if (foundRefusal !== undefined && foundRefusal !== null && (site === undefined || foundRefusal.siteId === site.id))
    return foundRefusal;
  const homesDown = await withUnbound(ctx, site?.home, silentHomes);
  if (homesDown.length === 0) throw callUnknown();
  const detail = `The homes that answer have no such refused call. These do not answer: ${homesDown.join(", ")}.`;
  throw new ServiceError("unavailable", { reason: "homes_down", detail, homesDown, retryAfter: 1 });
}

/** Asks the home of a site, or all homes. @returns the answers, and the homes that did not answer */
async function askJournals<T>(ctx: ServiceContext, site: Site | undefined, readAround: (db: D1Database) => Promise<T>) {
  const homes = [...ctx.config.homes].filter(([home]) => site === undefined || home === site.home);
  const { answers, silentHomes } = await askHomes(ctx, readAround, homes);
  return { answers: [...answers.values()], silentHomes };
}

/** What is known of a call that is not found: its id contains its time. */
export interface CallsAround {
  /** When the call came, in Unix seconds. */
  at: number;
  /** Whether refused calls of that time are stored. `ahead`: the time is in the future, so no call here had the id. */
  time: "kept" | "too_old" | "ahead";
  /** The refused calls around it, the newest first. */
  around: Refusal[];
  /** How many refused calls of that time have no row of their own, as far as the rows say by now. */
  leftOut: number;
  /** The homes that did not answer: their calls are missing in `around` and `leftOut`. */
  homesDown: string[];
}

/** How many refused calls are shown on each side. */
const MOST_AROUND = 10;

/**
 * The refused calls around a call that is not found: on the site, or on all sites that the operator sees.
 *
 * @throws ServiceError `invalid_input` for a malformed id
 */
export async function callsAround(
  ctx: ServiceContext,
  { requestId, site }: { requestId: string; site?: Site | undefined },
): Promise<CallsAround> {
  const id = checkRequestId(requestId);
  const at = timeOfRequest(id);
  const nothing = { at, around: [], leftOut: 0, homesDown: [] };
  if (at > ctx.now + CLOCKS_DIFFER) return { ...nothing, time: "ahead" };
  if (at < ctx.now - ctx.config.journalDays * 86_400) return { ...nothing, time: "too_old" };
  const siteId = site?.id ?? ctx.identity?.onlySite;
  const only = siteId === undefined ? undefined : (site ?? (await findSite(ctx, { siteId })));
  const read = (db: D1Database) => selectRefusalsAround(db, { requestId: id, siteId, limit: MOST_AROUND });
  const { answers: callsOfHomes, silentHomes } = await askJournals(ctx, only, read);
  const byId = (a: Refusal, b: Refusal) => (a.requestId < b.requestId ? 1 : -1);
  const after = callsOfHomes.flatMap((each) => each.after).toSorted(byId);
  const before = callsOfHomes.flatMap((each) => each.before).toSorted(byId);
  return {
    at,
    time: "kept",
    around: [...after.slice(-MOST_AROUND), ...before.slice(0, MOST_AROUND)],
    leftOut: callsOfHomes.reduce((sum, each) => sum + each.leftOut, 0),
    homesDown: await withUnbound(ctx, only?.home, silentHomes),
  };
}

/**
 * Finds a call by its request id: first on `site`, if there is one, with all that {@link findCall} finds; then among the refused calls and
 * the opened sessions of all homes.
 *
 * @returns `siteId` of the call; undefined when no home that answers knows it
 * @throws ServiceError `invalid_input` for a malformed id
 */
export async function locateCall(
  ctx: ServiceContext,
  { requestId, site }: { requestId: string; site?: Site | undefined },
): Promise<{ requestId: string; siteId: number | undefined; homesDown: string[] }> {
  const id = checkRequestId(requestId);
  if (site !== undefined && (await isCallOf(ctx, site, id))) return { requestId: id, siteId: site.id, homesDown: [] };
  const { answers, silentHomes } = await askHomes(ctx, async (db) => (await selectSiteOfCall(db, id)) ?? null);
  const siteId = [...answers.values()].find((siteOfCall) => siteOfCall !== null);
  return { requestId: id, siteId: siteId ?? undefined, homesDown: silentHomes };
}

/** Whether a site has a call. False while its home is silent. */
export async function isCallOf(ctx: ServiceContext, site: Site, requestId: string): Promise<boolean> {
  try {
    await findCall(ctx, { site, requestId });
    return true;
  } catch (error) {
    // A silent home is named when all homes are asked.
    if (error instanceof ServiceError || databaseFault(error) !== undefined) return false;
    throw error;
  }
}
