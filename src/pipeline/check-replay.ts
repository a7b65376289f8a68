import { lookForNonce, nonceKey, seenWithin } from "../replay/kv-nonces.ts";
import { ok, type Refused, type Result, refused } from "../result.ts";
import type { Fields } from "./read-fields.ts";
import type { Stamp } from "./read-stamp.ts";
import type { Tools } from "./tools.ts";

/** A look into KV that may have begun already. */
export interface ReplayLook {
  /** The nonce's name in KV; undefined when the ranstr is none. */
  key: Promise<string> | undefined;
  answer: Promise<boolean> | undefined;
}

/**
 * Starts the look into KV before anything is known of the caller, so that KV's slowest answer, a miss, runs beside the rest.
 *
 * @param early false to only prepare it: for a client that failed too often it costs no read of KV
 */
export function startReplayLook({ config, nonces }: Tools, { appid, ranstr }: Fields, early: boolean): ReplayLook {
  if (typeof ranstr !== "string") return { key: undefined, answer: undefined };
  const key = nonceKey(appid, ranstr);
  const begins = early && !nonces.has(appid, ranstr);
  return { key, answer: begins ? lookForNonce(config.nonces, key) : undefined };
}
startReplayLook.kind = "reads" as const;

/** Whether this isolate or KV knows that the ranstr was used. Both only help: D1 decides. The isolate keeps what KV said. */
export async function checkReplay(
  { runtime, config, nonces, trace }: Tools,
  appid: string,
  { ranstr }: Stamp,
  staleAt: number,
  { key, answer }: ReplayLook,
): Promise<Result<null>> {
  if (nonces.has(appid, ranstr)) return replayed("ranstr_seen_here");
  const since = runtime.elapsed();
  if (await seenWithin(runtime, answer ?? lookForNonce(config.nonces, key), config.replayLookMs)) {
    nonces.add(appid, ranstr, staleAt);
    return replayed("ranstr_seen_by_kv");
  }
  trace.kvMs = Math.round(runtime.elapsed() - since);
  return ok(null);
}
checkReplay.kind = "writes" as const;

/** The refusal of a used ranstr, told to callers whose signature was valid. Contract section 5, rule 6. */
export const replayed = (reason: string): Refused =>
  refused("token_invalid", reason, { detail: "ranstr: was already used", tell: true });
