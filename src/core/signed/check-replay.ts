import { ok, type Refused, type Result, refused } from "../result.ts";
import type { Freshness } from "./check-freshness.ts";
import { answerWithin, isKnownToKv, nonceKey } from "./kv-nonces.ts";
import type { Fields } from "./read-fields.ts";
import type { RequestTools } from "./tools.ts";

/** The question to KV whether a ranstr was used. It may have been sent already, or not yet. */
export interface KvCheck {
  /** The nonce's key in KV; undefined when the ranstr is not a string. */
  key: Promise<string> | undefined;
  /** Undefined when KV was not asked yet. */
  answer: Promise<boolean> | undefined;
  /** When the request began to wait for KV, in milliseconds of the runtime's `elapsed`. */
  since: number;
}

/**
 * Asks KV before the caller is verified, so that KV's answer arrives while other steps run. A miss is KV's slowest answer.
 *
 * @param mayAskKv false computes only the key: a client with too many failures must not cause reads of KV
 */
export function startReplayCheck(
  { runtime, config, nonces }: RequestTools,
  { appid, ranstr }: Fields,
  mayAskKv: boolean,
): KvCheck {
  const since = runtime.elapsed();
  if (typeof ranstr !== "string") return { key: undefined, answer: undefined, since };
  const key = nonceKey(appid, ranstr);
  const askNow = mayAskKv && !nonces.has(appid, ranstr);
  return { key, answer: askNow ? isKnownToKv(config.nonces, key) : undefined, since };
}

/**
 * Refuses a ranstr that this isolate or KV knows as used. A miss proves nothing: D1 decides. A hit in KV is remembered in the
 * isolate.
 */
export async function checkReplay(
  { runtime, config, nonces, trace }: RequestTools,
  appid: string,
  { ranstr }: Freshness,
  staleAt: number,
  { key, answer, since }: KvCheck,
): Promise<Result<null>> {
  if (nonces.has(appid, ranstr)) return replayRefusal("ranstr_seen_here");
  // KV had the time of the earlier steps to answer. An honest ranstr is always a miss, so nearly every request would pay for a
  // longer wait.
  const msLeft = config.replayCheckMs - (runtime.elapsed() - since);
  if (await answerWithin(runtime, answer ?? isKnownToKv(config.nonces, key), msLeft)) {
    nonces.add(appid, ranstr, staleAt);
    return replayRefusal("ranstr_seen_by_kv");
  }
  trace.kvMs = Math.round(runtime.elapsed() - since);
  return ok(null);
}

/** The refusal of a used ranstr. Contract section 5, rule 6. The caller may read the violation, because the signature was valid. */
export const replayRefusal = (reason: string): Refused =>
  refused("token_invalid", reason, { violations: [{ field: "ranstr", rule: "used_once" }], tellViolations: true });
