import type { Runtime } from "../core/runtime.ts";

/** The backoff after each failed attempt, in seconds. No attempt follows the eighth. */
const BACKOFF_SECONDS = [5, 300, 1_800, 7_200, 18_000, 36_000, 43_200];

export const MOST_ATTEMPTS = BACKOFF_SECONDS.length + 1;

/** The jitter of a backoff, in both directions. Without it, deliveries that failed together would be retried together. */
const JITTER = 0.1;

/** The longest wait that a receiver may ask for. */
const LONGEST_WAIT_SECONDS = 43_200;

/**
 * When the next attempt is due, in Unix seconds; null after the last attempt.
 *
 * @param attempts   how many attempts have begun
 * @param now        Unix seconds
 * @param retryAfter the seconds that the receiver asked for; they count when longer than the backoff
 */
export function nextAttemptAt(
  { random }: Pick<Runtime, "random">,
  attempts: number,
  now: number,
  retryAfter = 0,
): number | null {
  const backoff = BACKOFF_SECONDS[attempts - 1];
  if (backoff === undefined) return null;
  const jittered = Math.round(backoff * (1 - JITTER + 2 * JITTER * random()));
  return now + Math.max(jittered, Math.min(retryAfter, LONGEST_WAIT_SECONDS));
}

/** The three date forms of RFC 9110, 5.6.7. The last form names no zone, but means GMT too. */
const HTTP_DATE =
  /^([A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/;

/**
 * The seconds that a Retry-After header asks for. The header is a number of seconds or an HTTP date; undefined when it is neither.
 *
 * @param now Unix seconds
 */
export function readRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header);
  const at = HTTP_DATE.test(header) ? Date.parse(`${header.replace(/ GMT$/, "")} GMT`) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.ceil(at / 1000) - now;
}
