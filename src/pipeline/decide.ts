import { homeDatabase } from "../config.ts";
import type { Caller } from "../credentials/authenticate.ts";
import type { Asked, Operation, Outcome } from "../operations/operation.ts";
import { NONCE_SECONDS } from "../replay/kv-nonces.ts";
import { ok, type Result } from "../result.ts";
import { sleep } from "../runtime.ts";
import type { ClaimRequest } from "../store/home/claim.ts";
import { runBatch, TRIES } from "../store/run-batch.ts";
import { replayed } from "./check-replay.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { IDEMPOTENCY_SECONDS } from "./idempotency-key.ts";
import type { Tools } from "./tools.ts";
import { type Claimant, verifyAgain } from "./verify-caller.ts";

/** How often a request looks whether another with its ranstr has ended. Milliseconds. */
const UNDER_WAY_LOOK_MS = 5;

/** A verified request that only the database can still refuse. */
export interface Ready {
  operation: Operation;
  asked: Asked;
  ranstr: string;
  idempotencyKey: string | null;
  /** Unix seconds from which on these bytes are stale for good. */
  staleAt: number;
}

/** The values of the claim that a request makes. */
export async function claimOf(
  { runtime }: Pick<Tools, "runtime">,
  { siteId, appid, secretVersion }: Pick<Caller, "siteId" | "appid" | "secretVersion">,
  { asked, ranstr, idempotencyKey }: Pick<Ready, "asked" | "ranstr" | "idempotencyKey">,
  now: number,
): Promise<ClaimRequest> {
  return {
    ...{ appid, siteId, secretVersion, ranstr, now },
    owner: runtime.uuid(),
    nonceExpiresAt: now + NONCE_SECONDS,
    key: idempotencyKey,
    fingerprint: idempotencyKey === null ? "" : await fingerprintOf(asked.input),
    keyExpiresAt: now + IDEMPOTENCY_SECONDS,
  };
}

/**
 * Runs the operation's batch: claims the ranstr, decides and writes, in one trip to D1.
 *
 * @returns refused when the caller turns out to be none, or when another request of this isolate used the ranstr meanwhile
 * @throws ServiceError as runBatch does: `unavailable` when it is unknown whether the batch was applied
 */
export async function decide(tools: Tools, claimant: Claimant, caller: Caller, ready: Ready): Promise<Result<Outcome>> {
  const { runtime, config, nonces } = tools;
  const { appid, lookUp, signed } = claimant;
  const { operation, asked, ranstr, staleAt } = ready;
  // Replays that arrive while the first one is under way wait for its outcome: D1 is asked once.
  while (nonces.isUnderWay(appid, ranstr) && runtime.elapsed() < lookUp.answerBy) {
    await sleep(runtime, UNDER_WAY_LOOK_MS);
  }
  if (nonces.has(appid, ranstr)) return replayed("ranstr_seen_here");
  const claim = await claimOf(tools, caller, ready, signed.now);
  const run = async ({ siteId, secretVersion }: Caller, before: number): Promise<Outcome> => {
    const db = homeDatabase(config, siteId);
    const request = { ...claim, siteId, secretVersion };
    const batch = (attempt: number) => operation.batch(db, request, asked, attempt);
    return operation.outcomeOf(await runBatch(runtime, db, batch, { answerBy: lookUp.answerBy, before }));
  };
  const ended = nonces.begin(appid, ranstr);
  try {
    let outcome = await run(caller, 0);
    if (outcome.kind === "credentials_stale") {
      // The cached record may be old. The owner stays: with another one a caller would meet its own committed request as a replay.
      const fresh = await verifyAgain(tools, claimant, caller);
      if (!fresh.ok) return fresh;
      if (fresh.value !== null) outcome = await run(fresh.value, TRIES);
    }
    if (outcome.kind !== "credentials_stale") {
      nonces.add(appid, ranstr, outcome.kind === "replayed" ? staleAt : claim.nonceExpiresAt);
    }
    return ok(outcome);
  } finally {
    ended();
  }
}
decide.kind = "writes" as const;
