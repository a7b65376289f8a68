import { homeClosed, homeDatabase } from "../config.ts";
import { ServiceError } from "../errors.ts";
import type { Operation, OperationInput, Outcome } from "../operations/operation.ts";
import { ok, type Result } from "../result.ts";
import { sleep } from "../runtime.ts";
import type { ClaimRequest } from "../store/claim.ts";
import { hereOrElsewhere } from "../store/here-or-elsewhere.ts";
import { runBatch, TRIES, type TryLimits } from "../store/run-batch.ts";
import type { Caller, Claimant } from "./authenticate.ts";
import { replayRefusal } from "./check-replay.ts";
import { claimOf } from "./claim-of.ts";
import type { RequestTools } from "./tools.ts";
import { verifyAgain } from "./verify-again.ts";

/** A request waits this long between two checks whether another request with the same ranstr has ended. */
const IN_FLIGHT_POLL_MS = 5;

/** A request that passed all steps before the database. */
export interface ReadyRequest {
  operation: Operation;
  operationInput: OperationInput;
  ranstr: string;
  idempotencyKey: string | null;
  clientNetwork: string | null;
  /** Unix seconds. From then on the request's timestamp is outside every tolerance. */
  staleAt: number;
}

/**
 * Runs the operation's batch in the home of the caller's site. The batch claims the ranstr, decides and writes in one trip to D1.
 *
 * @returns a refusal when the home no longer knows the caller, or when another request of this isolate used the ranstr meanwhile
 * @throws ServiceError `unavailable` when it is unknown whether the batch was applied, or the home has no database
 */
export async function decide(
  tools: RequestTools,
  claimant: Claimant,
  caller: Caller,
  ready: ReadyRequest,
): Promise<Result<DecidedOutcome>> {
  const { runtime, nonces, trace } = tools;
  const { appid, lifetime, signed } = claimant;
  const { ranstr, staleAt } = ready;
  const claim = await claimOf(runtime, caller, ready, trace.requestId, signed.now);
  // There must be no `await` between the last check and `begin`: otherwise two requests with one ranstr could both go on. Replays
  // that arrive while the first request is in flight wait for its outcome, so D1 is asked once.
  while (nonces.isInFlight(appid, ranstr) && runtime.elapsed() < lifetime.answerBy) {
    await sleep(runtime, IN_FLIGHT_POLL_MS);
  }
  if (nonces.has(appid, ranstr)) return replayRefusal("ranstr_seen_here");
  const endNonce = nonces.begin(appid, ranstr, lifetime.answerBy);
  const since = runtime.elapsed();
  try {
    const decided = await decideAnywhere(tools, claimant, caller, ready, claim);
    if (!decided.ok) return decided;
    const { kind } = decided.value;
    if (kind !== "site_closed") {
      nonces.add(appid, ranstr, kind === "replayed" ? staleAt : claim.nonceExpiresAt);
    }
    trace.d1Ms = Math.round(runtime.elapsed() - since);
    return decided;
  } finally {
    endNonce();
  }
}

/** The outcome of a batch in a home that confirms the caller's record. */
export type DecidedOutcome = Exclude<Outcome, { kind: "credentials_stale" }>;

/** The most times that a request meets the gate: with its first record, with a fresh record, and once more when that is outdated too. */
const RUNS = 3;

/**
 * Runs the batch, and runs it again when D1 has a newer record of the app. D1 is asked for that record when the home refuses the
 * caller's record or does not answer a try. All runs have the same owner: with two owners, the second run could take the commit of
 * the first for a replay.
 *
 * @throws ServiceError `unavailable` also when the gate has refused each record of D1, because the caller's secret is right
 */
async function decideAnywhere(
  tools: RequestTools,
  claimant: Claimant,
  caller: Caller,
  ready: ReadyRequest,
  claim: ClaimRequest,
): Promise<Result<DecidedOutcome>> {
  const decided = await hereOrElsewhere(
    (watch) => decideAt(tools, claimant, caller, ready, claim, { before: 0, watch }),
    () => findElsewhere(tools, claimant, caller),
  );
  const meetGate = (currentCaller: Caller, run: number) =>
    decideAt(tools, claimant, currentCaller, ready, claim, { before: run * TRIES });
  let [currentCaller, run] = "elsewhere" in decided ? [decided.elsewhere, 1] : [caller, 0];
  let outcome = "elsewhere" in decided ? await meetGate(currentCaller, run) : decided.answer;
  while (outcome.kind === "credentials_stale") {
    const freshCaller = await verifyAgain(tools, claimant, currentCaller, "gate_refused");
    if (!freshCaller.ok) return freshCaller;
    if (++run === RUNS) throw new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1 });
    currentCaller = freshCaller.value;
    outcome = await meetGate(currentCaller, run);
  }
  return ok(outcome);
}

/** The caller according to the directory, after the home did not answer. Undefined when the directory says nothing new. */
async function findElsewhere(tools: RequestTools, claimant: Claimant, caller: Caller): Promise<Caller | undefined> {
  const verifiedAgain = await verifyAgain(tools, claimant, caller, "home_silent");
  return verifiedAgain.ok && verifiedAgain.value !== null ? verifiedAgain.value : undefined;
}

async function decideAt(
  tools: RequestTools,
  { appid, lifetime }: Claimant,
  { siteId, home, secretVersion, events }: Caller,
  { operation, operationInput }: ReadyRequest,
  claim: ClaimRequest,
  tries: Omit<TryLimits, "answerBy">,
): Promise<Outcome> {
  const { runtime, config, trace } = tools;
  Object.assign(trace, { home, app: { siteId, appid, home }, secretVersion });
  // A record that the caches gave meanwhile may name a closed home.
  if (config.closedHomes.has(home)) throw new ServiceError("unavailable", homeClosed(home));
  const db = homeDatabase(config, home);
  const request = { ...claim, siteId, secretVersion, events: Number(events) };
  const batch = (attempt: number) => operation.batch(db, request, operationInput, attempt);
  const outcome = operation.outcomeOf(await runBatch(runtime, db, batch, { ...tries, answerBy: lifetime.answerBy }));
  if (outcome.kind === "accepted" && outcome.webhooks.length > 0) {
    const notices = outcome.webhooks.map((webhook) => ({ home, site: siteId, webhook }));
    lifetime.waitUntil(tools.notify(tools, notices));
  }
  return outcome;
}
