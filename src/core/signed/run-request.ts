import { CLOSED_RETRY_SECONDS, MAX_TOLERANCE_SECONDS } from "../config.ts";
import type { Lifetime } from "../credentials/question.ts";
import type { Operation } from "../operations/operation.ts";
import { ok, type Refused, type Result, refused } from "../result.ts";
import type { LeftOutAgent } from "../rules.ts";
import { unixSeconds } from "../runtime.ts";
import { WHOLE_LIMIT_MS } from "../store/run-batch.ts";
import type { Caller, Claimant } from "./authenticate.ts";
import { checkFreshness } from "./check-freshness.ts";
import { checkReplay, replayRefusal, startReplayCheck } from "./check-replay.ts";
import { type DecidedOutcome, decide } from "./decide.ts";
import { DRILL_BUSY, isBusy, readDrill } from "./drill.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";
import { rememberNonce } from "./kv-nonces.ts";
import { failureKey, LIMIT_PERIOD } from "./rate-limit.ts";
import { type Fields, readFields } from "./read-fields.ts";
import type { RequestTools } from "./tools.ts";
import { verifyAgain } from "./verify-again.ts";
import { noteApp, verifyCaller } from "./verify-caller.ts";

export interface SignedRequest {
  body: ArrayBuffer;
  /** Headers; undefined when absent. */
  signature: string | undefined;
  idempotencyKey: string | undefined;
  drill: string | undefined;
  /** The address that failures are counted under. */
  client: string;
  /** The network of the client, which is stored; null when it is not known. */
  clientNetwork: string | null;
}

/** The result of an accepted request. */
export interface AcceptedRequest {
  sessionId: number;
  /** True when an earlier request under the same Idempotency-Key was accepted. */
  repeated: boolean;
  leftOut: LeftOutAgent[];
}

/** How long an isolate refuses an app or a site after its limit was exceeded, before it asks the limit again. */
const EXCEEDED_SECONDS = 1;

const SITE_CLOSED = refused("unavailable", "site_closed", {
  violations: [{ rule: "site_open" }],
  retryAfter: CLOSED_RETRY_SECONDS,
});

/** Whether this outcome means that this very request has used up its ranstr. */
const USES_UP_NONCE: Record<DecidedOutcome["kind"], boolean> = {
  accepted: true,
  repeated: true,
  refused: true,
  replayed: false,
  site_closed: false,
};

/**
 * Runs the steps of a signed request in this order, until one refuses. Each step has the reasons of its refusals:
 *
 * 1. the body is a JSON object with an appid: `body_…`;
 * 2. the app is looked up, and its home is not closed: `client_limit` when its address made up many appids and it
 *    got no turn, `home_closed`, `home_unbound`;
 * 3. a secret in force has signed the bytes: `app_unknown`, `app_revoked`, `signature_missing`, `signature_malformed`,
 *    `signature_mismatch`; `client_limit` for an address with many failures;
 * 4. the app is within its limit of malformed requests, when the request is malformed: `malformed_limit`;
 * 5. timestamp and ranstr are well formed and fresh: `fields_invalid`, `timestamp_stale`, `timestamp_ahead`;
 * 6. this isolate and KV have not seen the ranstr: `ranstr_seen_here`, `ranstr_seen_by_kv`;
 * 7. the app and its site are within their limits: `app_limit`, `site_limit`;
 * 8. the operation's fields, the Idempotency-Key and the drill keep their rules: `fields_invalid`, `idempotency_key_malformed`,
 *    `drill_unknown`; it does not drill a busy service: `drill_busy`, and `app_limit` for too many of these;
 * 9. the app is within its limit of requests to a closed site: `site_closed`;
 * 10. one batch of D1, run again when the caller's record is outdated, checks the gate, claims the ranstr and decides:
 *     `ranstr_seen_here` after a request in flight, `home_closed`, `home_unbound`, `credentials_stale`, `client_limit`, `site_closed`,
 *     `ranstr_claimed_in_d1`, `key_reused`, and the operation's own rules.
 *
 * Before step 4, 5, 7, 8 or 9 refuses, D1 confirms a caller that came from a cache, if D1 may be asked: verify-again.ts.
 *
 * @throws ServiceError `unavailable` when D1 does not answer, one with the reason `client_limit` when the caller got no turn at D1, and
 *   `internal` for a fault of the deployment
 */
export async function runRequest(
  tools: RequestTools,
  operation: Operation,
  request: SignedRequest,
): Promise<Result<AcceptedRequest>> {
  const { runtime, telemetry, config, limits, trace, waitUntil } = tools;
  const { body, signature, client, clientNetwork } = request;
  trace.operation = operation.name;
  const drill = readDrill(request.drill, config.drills);
  trace.drill = drill.ok ? drill.value : undefined;
  const fields = readFields(body, operation.exactField);
  if (!fields.ok) return fields;
  const { appid } = fields.value;
  const now = unixSeconds(runtime);
  const answerBy = runtime.elapsed() + WHOLE_LIMIT_MS;
  const claimant: Claimant = { appid, client, signed: { signature, body, now }, lifetime: lifetimeOf(tools, answerBy) };
  // Malformed requests have a limit of their own: they use up no ranstr, so one captured request could be sent again and again.
  // Over that limit a malformed request costs no read of KV. So its fields are read here already.
  const malformedKey = `malformed ${appid}`;
  const readEarly = limits.isExceeded(malformedKey) ? operation.read(fields.value) : undefined;
  const tooManyMalformed =
    readEarly !== undefined && isMalformed(tools, [readEarly, drill], request, fields.value, now);
  const mayAskKv = !tooManyMalformed && !limits.isExceeded(failureKey("signed", client));
  const kvCheck = startReplayCheck(tools, fields.value, mayAskKv);

  const verifiedCaller = await verifyCaller(tools, claimant);
  if (!verifiedCaller.ok) return verifiedCaller;
  const caller = verifiedCaller.value;
  const { home, source: credentialsFrom, secretVersion } = caller;
  Object.assign(trace, { appid, home, credentialsFrom, secretVersion });
  const refuse = async (why: Refused) => {
    const refusal = await refuseConfirmedCaller(tools, claimant, caller, why);
    if (refusal.code === "invalid_parameters")
      waitUntil(limits.countLater(config.appLimit, malformedKey, EXCEEDED_SECONDS));
    return refusal;
  };

  if (tooManyMalformed) {
    return refuse(refused("too_many_requests", "malformed_limit", { retryAfter: LIMIT_PERIOD }));
  }
  const freshness = checkFreshness(fields.value, now, config.timestampToleranceSeconds);
  if (!freshness.ok) return refuse(freshness);
  const { timestamp, ranstr } = freshness.value;
  const staleAt = timestamp + MAX_TOLERANCE_SECONDS;
  const unused = await checkReplay(tools, appid, freshness.value, staleAt, kvCheck);
  // A replay is refused without a question to D1 about the caller, because its answer tells no more than the first answer told.
  if (!unused.ok) return unused;
  const siteKey = `site ${caller.siteId}`;
  const exceeded = limits.isExceeded(appid) ? "app_limit" : limits.isExceeded(siteKey) ? "site_limit" : undefined;
  if (exceeded !== undefined) return refuse(refused("too_many_requests", exceeded, { retryAfter: LIMIT_PERIOD }));
  const operationInput = readEarly ?? operation.read(fields.value);
  if (!operationInput.ok) return refuse(operationInput);
  const key = readIdempotencyKey(request.idempotencyKey);
  if (!key.ok) return refuse(key);
  if (!drill.ok) return refuse(drill);
  if (drill.value === "busy" && isBusy(String(await kvCheck.key))) {
    // This refusal does not use up the ranstr, so a captured request could be sent again and again: it has a limit of its own.
    const busyKey = `busy ${appid}`;
    if (limits.isExceeded(busyKey))
      return refuse(refused("too_many_requests", "app_limit", { retryAfter: LIMIT_PERIOD }));
    waitUntil(limits.countLater(config.appLimit, busyKey, EXCEEDED_SECONDS));
    return refuse(DRILL_BUSY);
  }

  // A request to a closed site does not use up its ranstr, so a captured one could be sent again and again. These requests have a
  // limit of their own, so that they leave the app's limit alone.
  const closedKey = `closed ${appid}`;
  if (limits.isExceeded(closedKey)) return refuse(SITE_CLOSED);

  const ready = {
    operation,
    operationInput: operationInput.value,
    ranstr,
    idempotencyKey: key.value,
    clientNetwork,
    staleAt,
  };
  const decided = await decide(tools, claimant, caller, ready);
  if (!decided.ok) return decided;
  const outcome = decided.value;
  if (USES_UP_NONCE[outcome.kind]) {
    waitUntil(
      Promise.all([
        rememberNonce(config.nonces, kvCheck.key, telemetry),
        // The limits count after the replay check: otherwise replays of one captured request could exhaust the app's limit.
        limits.countLater(config.appLimit, appid, EXCEEDED_SECONDS),
        limits.countLater(config.siteLimit, siteKey, EXCEEDED_SECONDS),
      ]),
    );
  }
  switch (outcome.kind) {
    case "site_closed":
      waitUntil(limits.countLater(config.appLimit, closedKey, EXCEEDED_SECONDS));
      return tellViolations(SITE_CLOSED);
    case "replayed":
      return replayRefusal("ranstr_claimed_in_d1");
    case "refused":
      return tellViolations(outcome.refused);
    case "repeated":
      return ok({ sessionId: outcome.sessionId, repeated: true, leftOut: [] });
    case "accepted":
      return ok({ sessionId: outcome.sessionId, repeated: false, leftOut: outcome.leftOut });
  }
}

/** The lifetime for a look-up. It notes the place that the directory names, so that a refusal gets into the journal of that home. */
const lifetimeOf = ({ runtime, waitUntil, trace }: RequestTools, answerBy: number): Lifetime => ({
  runtime,
  waitUntil,
  answerBy,
  onRoute(place) {
    noteApp(trace, { ...place, isRouted: true });
  },
});

/** Whether a field or a header breaks a rule: such a request is refused before the batch, whenever it is sent. */
const isMalformed = (
  { config }: RequestTools,
  readSteps: Result<unknown>[],
  { idempotencyKey }: SignedRequest,
  fields: Fields,
  now: number,
): boolean =>
  [
    checkFreshness(fields, now, config.timestampToleranceSeconds),
    readIdempotencyKey(idempotencyKey),
    ...readSteps,
  ].some((stepResult) => !stepResult.ok && stepResult.code === "invalid_parameters");

/** The caller may read the violations, because the signature was valid. */
const tellViolations = (why: Refused): Refused => ({ ...why, tellViolations: true });

/** Refuses a request before the batch. D1 is asked first whether it still knows the caller. */
async function refuseConfirmedCaller(
  tools: RequestTools,
  claimant: Claimant,
  caller: Caller,
  why: Refused,
): Promise<Refused> {
  const confirmed = await verifyAgain(tools, claimant, caller, "refused_anyway");
  return confirmed.ok ? tellViolations(why) : confirmed;
}
