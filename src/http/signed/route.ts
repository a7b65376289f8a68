import type { Handler } from "hono";
import type * as z from "zod/mini";
import { homeDatabase } from "../../config.ts";
import type { Caller } from "../../credentials/authenticate.ts";
import { ServiceError } from "../../errors.ts";
import { describeIssues, fieldIssues } from "../../fields.ts";
import type { Settlement } from "../../operations/settlement.ts";
import { type JsonFault, parseJsonObject } from "../../parse-json.ts";
import { meaningOf } from "../../pipeline/fingerprint.ts";
import { IDEMPOTENCY_SECONDS, parseIdempotencyKey } from "../../pipeline/idempotency-key.ts";
import { type RequestStamp, requestStampSchema } from "../../pipeline/request-stamp.ts";
import { APP_LIMIT_PERIOD, clientAddress, failureKey } from "../../rate-limit.ts";
import {
  lookForNonce,
  MAX_TOLERANCE_SECONDS,
  NONCE_SECONDS,
  nonceKey,
  rememberNonce,
  seenWithin,
} from "../../replay/nonce-look.ts";
import { type Runtime, sleep, unixSeconds } from "../../runtime.ts";
import { checkFreshness } from "../../signing/check-freshness.ts";
import type { Request as ClaimRequest } from "../../store/home/claim.ts";
import { TRIES, type Tries, WHOLE_LIMIT_MS } from "../../store/run-batch.ts";
import type { App } from "../context.ts";
import { configOf } from "../context.ts";
import { readBody } from "../read-body.ts";
import { succeed } from "./envelope.ts";
import { type Claimant, confirmCaller, verifyAgain, verifyCaller } from "./verify-caller.ts";

/** One signed operation: its fields, what it does, and what a success says. */
export interface SignedOperation<Input> {
  schema: z.ZodMiniType<Input>;
  /** A top-level field whose integers count by their digits. */
  digitsOf?: string;
  run: (runtime: Runtime, db: D1Database, request: ClaimRequest, input: Input, tries: Tries) => Promise<Settlement>;
  answer: (sessionId: number) => Record<string, unknown> | "";
}

/** How long an isolate refuses an app that passed its limit, before it lets a request through to see. Seconds. */
const APP_PAUSE = 1;

/** How often a request looks whether another with its ranstr has ended. */
const UNDER_WAY_LOOK_MS = 5;

/** The way of one signed request, in the order of README, "Architecture". Every check that fails throws a ServiceError. */
export function signed<Input>(operation: SignedOperation<Input>): Handler<App> {
  return async function signedRequest(c) {
    const { isolate, trace } = c.var;
    const config = configOf(c);
    const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);

    const body = await readBody(c.req.raw);
    const fields = readFields(body, operation.digitsOf);
    const { appid } = fields;
    const client = clientAddress(c.req.raw);
    const now = unixSeconds(isolate.runtime);
    const answerBy = isolate.runtime.elapsed() + WHOLE_LIMIT_MS;
    const claimant: Claimant = {
      ...{ appid, client },
      signed: { signature: c.req.header("x-chat-signature"), body, now },
      lookUp: { waitUntil, answerBy },
    };

    const { ranstr } = fields;
    const nonce = typeof ranstr === "string" ? nonceKey(appid, ranstr) : undefined;
    const isRemembered = () => typeof ranstr === "string" && isolate.nonces.has(appid, ranstr);
    const lookUpNonce = () => lookForNonce(config.nonces, nonce);
    // Started before anything is known of the caller, so that KV's slowest answer, a miss, runs beside the rest; but an address
    // that failed too often costs no read of KV.
    const startEarly = !isRemembered() && !isolate.limits.isPassed(failureKey("signed", client));
    const look = startEarly ? lookUpNonce() : undefined;

    const caller = await verifyCaller(c, config, claimant);
    const refuse = async (refusal: ServiceError): Promise<never> => {
      await confirmCaller(c, config, claimant, caller);
      throw refusal;
    };
    const stamp = readStamp(fields, now, config.timestampToleranceSeconds);
    if (stamp instanceof ServiceError) return refuse(stamp);
    // Past this, these bytes are stale for good.
    const staleAt = stamp.timestamp + MAX_TOLERANCE_SECONDS;
    if (isRemembered()) throw replayed("ranstr_seen_here");
    const lookedSince = isolate.runtime.elapsed();
    if (await seenWithin(isolate.runtime, look ?? lookUpNonce(), config.replayLookMs)) {
      isolate.nonces.add(appid, stamp.ranstr, staleAt);
      throw replayed("ranstr_seen_by_kv");
    }
    trace.kvMs = Math.round(isolate.runtime.elapsed() - lookedSince);
    if (isolate.limits.isPassed(appid)) {
      return refuse(new ServiceError("too_many_requests", { reason: "app_limit", retryAfter: APP_LIMIT_PERIOD }));
    }
    const input = parse(operation.schema, fields);
    if (input instanceof ServiceError) return refuse(input);
    const key = parseIdempotencyKey(c.req.header("idempotency-key"));
    if (key instanceof ServiceError) return refuse(key);

    const request = {
      ...{ appid, ranstr: stamp.ranstr, now, key },
      owner: isolate.runtime.uuid(),
      nonceExpiresAt: now + NONCE_SECONDS,
      meaning: key === null ? "" : await meaningOf(input),
      keyExpiresAt: now + IDEMPOTENCY_SECONDS,
    };
    const run = ({ siteId, secretVersion }: Caller, before: number) =>
      operation.run(isolate.runtime, homeDatabase(config, siteId), { ...request, siteId, secretVersion }, input, {
        answerBy,
        before,
      });
    // Replays that come while the first is on its way wait for what becomes of it: D1 is asked once.
    while (isolate.nonces.isUnderWay(appid, stamp.ranstr) && isolate.runtime.elapsed() < answerBy)
      await sleep(isolate.runtime, UNDER_WAY_LOOK_MS);
    if (isRemembered()) throw replayed("ranstr_seen_here");
    const ended = isolate.nonces.begin(appid, stamp.ranstr);
    const sentAt = isolate.runtime.elapsed();
    let settlement: Settlement;
    try {
      settlement = await run(caller, 0);
      if (settlement.kind === "credentials_stale") {
        // What was believed of the app may be old. With a fresh owner a caller would meet his own committed request as a replay.
        const fresh = await verifyAgain(c, config, claimant, caller);
        if (fresh !== undefined) settlement = await run(fresh, TRIES);
      }
      if (settlement.kind !== "credentials_stale") {
        const until = settlement.kind === "replayed" ? staleAt : request.nonceExpiresAt;
        isolate.nonces.add(appid, stamp.ranstr, until);
      }
    } finally {
      ended();
    }
    trace.d1Ms = Math.round(isolate.runtime.elapsed() - sentAt);

    if (settlement.kind === "credentials_stale")
      throw new ServiceError("token_invalid", { reason: "credentials_stale" });
    if (settlement.kind === "replayed") throw replayed("ranstr_claimed_in_d1");
    waitUntil(rememberNonce(config.nonces, nonce, isolate.telemetry));
    // Only now, when it is known to be no replay: nothing that was captured can use up an app's limit.
    waitUntil(isolate.limits.count(config.appLimit, appid, APP_PAUSE));
    if (settlement.kind === "refused") throw settlement.refusal;
    if (settlement.kind === "repeated") {
      c.header("idempotency-replayed", "true");
      trace.repeated = true;
    } else if (settlement.ignoredAgents !== undefined) {
      c.header("x-ignored-agents", settlement.ignoredAgents);
      trace.ignoredAgents = settlement.ignoredAgents;
    }
    trace.sessionId = settlement.sessionId;
    return succeed(c, operation.answer(settlement.sessionId));
  };
}

const BODY_FAULTS: Record<JsonFault | "appid_missing", string> = {
  not_utf8: "body: must be UTF-8",
  byte_order_mark: "body: must have no byte order mark",
  not_json: "body: must be JSON",
  not_an_object: "body: must be a JSON object",
  appid_missing: "appid: must be a string of 1 to 64 characters",
};

/** @throws ServiceError for what is wrong before an app is known, in words that need no secret */
function readFields(body: ArrayBuffer, digitsOf: string | undefined): Record<string, unknown> & { appid: string } {
  const parsed = parseJsonObject(body, digitsOf);
  if (!parsed.ok) throw unreadable(parsed.reason);
  const { object } = parsed;
  if (!isAppid(object.appid)) throw unreadable("appid_missing");
  return object as Record<string, unknown> & { appid: string };
}

function unreadable(fault: keyof typeof BODY_FAULTS): ServiceError {
  return new ServiceError("invalid_parameters", { reason: `body_${fault}`, detail: BODY_FAULTS[fault], open: true });
}

function readStamp(fields: Record<string, unknown>, now: number, tolerance: number): RequestStamp | ServiceError {
  const stamp = parse(requestStampSchema, fields);
  if (stamp instanceof ServiceError) return stamp;
  const fresh = checkFreshness(stamp.timestamp, now, tolerance);
  if (fresh.ok) return stamp;
  const detail = `timestamp: must be within ${tolerance} s of ${now}, Unix seconds`;
  return new ServiceError("token_invalid", { reason: fresh.reason, detail });
}

function parse<Output>(schema: z.ZodMiniType<Output>, fields: Record<string, unknown>): Output | ServiceError {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  const detail = describeIssues(fieldIssues(result.error));
  return new ServiceError("invalid_parameters", { reason: "fields_invalid", detail });
}

/** The contract gives an appid no form; 1 to 64 characters keeps what is looked up and logged small. */
function isAppid(value: unknown): value is string {
  return typeof value === "string" && value.length >= 1 && value.length <= 128 && [...value].length <= 64;
}

function replayed(reason: string): ServiceError {
  return new ServiceError("token_invalid", { reason, detail: "ranstr: was already used" });
}
