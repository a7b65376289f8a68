import { ok, type Refused, type Result, refused } from "../result.ts";
import type { Freshness } from "./check-freshness.ts";
import { answerWithin, isKnownToKv, nonceKey } from "./kv-nonces.ts";
import type { Fields } from "./read-fields.ts";
import type { Tools } from "./tools.ts";

/** KV's answer about a ranstr, which may have been asked for already. */
export interface KvCheck {
  /** The nonce's key in KV; undefined when the ranstr is not a string. */
  key: Promise<string> | undefined;
  /** Undefined when KV was not asked yet. */
  answer: Promise<boolean> | undefined;
  /** When the request began to wait for KV, in milliseconds of the runtime's `elapsed`. */
  since: number;
}

/**
 * Asks KV before the caller is verified, so that a miss, KV's slowest answer, arrives while other steps run.
 *
 * @param early false to compute the key only: a client that failed too often must not cause a read of KV
 */
export function startReplayCheck(
  { runtime, config, nonces }: Tools,
  { appid, ranstr }: Fields,
  early: boolean,
): KvCheck {
  const since = runtime.elapsed();
  if (typeof ranstr !== "string") return { key: undefined, answer: undefined, since };
  const key = nonceKey(appid, ranstr);
  const askNow = early && !nonces.has(appid, ranstr);
  return { key, answer: askNow ? isKnownToKv(config.nonces, key) : undefined, since };
}

/** Whether this isolate or KV knows that the ranstr was used. Both only help: D1 decides. The isolate keeps what KV said. */
export async function checkReplay(
  { runtime, config, nonces, trace }: Tools,
  appid: string,
  { ranstr }: Freshness,
  staleAt: number,
  { key, answer, since }: KvCheck,
): Promise<Result<null>> {
  if (nonces.has(appid, ranstr)) return replayed("ranstr_seen_here");
  // KV has had the time of the steps before: an honest ranstr is always a miss, for which nobody should wait long.
  const left = config.replayCheckMs - (runtime.elapsed() - since);
  if (await answerWithin(runtime, answer ?? isKnownToKv(config.nonces, key), left)) {
    nonces.add(appid, ranstr, staleAt);
    return replayed("ranstr_seen_by_kv");
  }
  trace.kvMs = Math.round(runtime.elapsed() - since);
  return ok(null);
}

/** The refusal of a used ranstr, told to callers whose signature was valid. Contract section 5, rule 6. */
export const replayed = (reason: string): Refused =>
  refused("token_invalid", reason, { detail: "ranstr: was already used", tell: true });
