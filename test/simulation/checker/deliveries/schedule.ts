/** docs/receiving.md, "When an attempt fails". */

/** In seconds, after each failed attempt but the last. */
const PAUSES = [5, 300, 1_800, 7_200, 18_000, 36_000, 43_200];
export const MOST_ATTEMPTS = PAUSES.length + 1;
const JITTER = 0.1;
const LONGEST_RETRY_AFTER = 43_200;

/**
 * Between which times the next attempt may be due.
 *
 * @param number     which attempt failed
 * @param endedAt    when it failed, in Unix seconds
 * @param writtenAt  when that was written down at the latest
 * @param retryAfter the header as it was sent
 * @returns undefined after the last
 */
export function nextBounds(
  number: number,
  { endedAt, writtenAt }: { endedAt: number; writtenAt: number },
  retryAfter: string | null | undefined,
): { from: number; to: number } | undefined {
  const pause = PAUSES[number - 1];
  if (pause === undefined) return undefined;
  const asked = Math.min(secondsOf(retryAfter, endedAt), LONGEST_RETRY_AFTER);
  const from = endedAt + Math.max(Math.floor(pause * (1 - JITTER)), asked - 1);
  const to = writtenAt + Math.max(Math.ceil(pause * (1 + JITTER)), asked + 1);
  return { from, to };
}

/** The seconds of a Retry-After header; 0 for what is none. */
function secondsOf(header: string | null | undefined, now: number): number {
  if (header == null) return 0;
  if (/^\d+$/.test(header)) return Number(header);
  const at = / GMT$/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, Math.ceil(at / 1000) - now);
}
