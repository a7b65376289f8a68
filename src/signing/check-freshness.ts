export type FreshnessResult = { ok: true } | { ok: false; reason: "timestamp_stale" | "timestamp_ahead" };

/**
 * Contract section 5, rule 5: an expired timestamp is rejected. A timestamp at either edge of the tolerance is accepted. One too
 * far in the future is rejected too: it could be sent again after its nonce was forgotten.
 *
 * @param timestamp Unix seconds, as sent
 * @param now       Unix seconds
 */
export function checkFreshness(timestamp: number, now: number, toleranceSeconds: number): FreshnessResult {
  if (timestamp < now - toleranceSeconds) return { ok: false, reason: "timestamp_stale" };
  if (timestamp > now + toleranceSeconds) return { ok: false, reason: "timestamp_ahead" };
  return { ok: true };
}
