import { homeDatabase } from "../config.ts";
import type { Caller } from "../credentials/authenticate.ts";
import type { Asked, Operation, Outcome } from "../operations/operation.ts";
import { ok, type Result } from "../result.ts";
import { sleep } from "../runtime.ts";
import { runBatch, TRIES } from "../store/run-batch.ts";
import { replayed } from "./check-replay.ts";
import { claimOf } from "./claim-of.ts";
import type { Tools } from "./tools.ts";
import { type Claimant, verifyAgain } from "./verify-caller.ts";

/** A request that waits for another one with its ranstr checks this often whether it has ended. */
const UNDER_WAY_POLL_MS = 5;

/** A verified request that only the database can still refuse. */
export interface Ready {
  operation: Operation;
  asked: Asked;
  ranstr: string;
  idempotencyKey: string | null;
  /** Unix seconds; from then on no tolerance accepts this timestamp. */
  staleAt: number;
}

/**
 * Runs the operation's batch: claims the ranstr, decides and writes, in one trip to D1.
 *
 * @returns refused when D1 no longer knows the caller, or when another request of this isolate has used the ranstr meanwhile
 * @throws ServiceError as runBatch does: `unavailable` when it is unknown whether the batch was applied
 */
export async function decide(tools: Tools, claimant: Claimant, caller: Caller, ready: Ready): Promise<Result<Outcome>> {
  const { runtime, config, nonces, trace } = tools;
  const { appid, lookUp, signed } = claimant;
  const { operation, asked, ranstr, staleAt } = ready;
  const claim = await claimOf(runtime, caller, ready, signed.now);
  // Nothing is awaited between the last look and the mark. Replays that arrive while the
  // first one is under way wait for its outcome: D1 is asked once.
  while (nonces.isUnderWay(appid, ranstr) && runtime.elapsed() < lookUp.answerBy) {
    await sleep(runtime, UNDER_WAY_POLL_MS);
  }
  if (nonces.has(appid, ranstr)) return replayed("ranstr_seen_here");
  const run = async ({ siteId, secretVersion }: Caller, before: number): Promise<Outcome> => {
    const db = homeDatabase(config, siteId);
    const request = { ...claim, siteId, secretVersion };
    const batch = (attempt: number) => operation.batch(db, request, asked, attempt);
    return operation.outcomeOf(await runBatch(runtime, db, batch, { answerBy: lookUp.answerBy, before }));
  };
  const ended = nonces.begin(appid, ranstr);
  const since = runtime.elapsed();
  try {
    let outcome = await run(caller, 0);
    if (outcome.kind === "credentials_stale") {
      // The cached record may be old. Both runs have one owner: with two, the second could take the commit of the first for a replay.
      const fresh = await verifyAgain(tools, claimant, caller);
      if (!fresh.ok) return fresh;
      if (fresh.value !== null) outcome = await run(fresh.value, TRIES);
    }
    if (outcome.kind !== "credentials_stale") {
      nonces.add(appid, ranstr, outcome.kind === "replayed" ? staleAt : claim.nonceExpiresAt);
    }
    trace.d1Ms = Math.round(runtime.elapsed() - since);
    return ok(outcome);
  } finally {
    ended();
  }
}
decide.kind = "writes" as const;
