export type FreshnessResult = { ok: true } | { ok: false; reason: "timestamp_stale" | "timestamp_ahead" };

/**
 * Contract section 5, rule 5: an expired timestamp is rejected. Both edges of the tolerance are accepted, and a clock that runs
 * ahead is bounded as well, because a nonce is remembered only for so long.
 *
 * @param timestamp Unix seconds, as sent
 * @param now       Unix seconds
 */
export function checkFreshness(timestamp: number, now: number, toleranceSeconds: number): FreshnessResult {
  if (timestamp < now - toleranceSeconds) return { ok: false, reason: "timestamp_stale" };
  if (timestamp > now + toleranceSeconds) return { ok: false, reason: "timestamp_ahead" };
  return { ok: true };
}
