/** docs/receiving.md, "When an attempt fails". */

/** Seconds between an attempt and the next one. */
const BACKOFF_SECONDS = [5, 300, 1_800, 7_200, 18_000, 36_000, 43_200];
export const MOST_ATTEMPTS = BACKOFF_SECONDS.length + 1;
const JITTER = 0.1;
const LONGEST_RETRY_AFTER = 43_200;

/**
 * The earliest and the latest time at which the next attempt may be due.
 *
 * @param number     which attempt failed
 * @param endedAt    when it failed, in Unix seconds
 * @param writtenAt  the latest time at which its failure was recorded
 * @param retryAfter the header as it was sent
 * @returns undefined after the last attempt
 */
export function nextBounds(
  number: number,
  { endedAt, writtenAt }: { endedAt: number; writtenAt: number },
  retryAfter: string | null | undefined,
): { from: number; to: number } | undefined {
  const backoff = BACKOFF_SECONDS[number - 1];
  if (backoff === undefined) return undefined;
  const asked = Math.min(secondsOf(retryAfter, endedAt), LONGEST_RETRY_AFTER);
  const from = endedAt + Math.max(Math.floor(backoff * (1 - JITTER)), asked - 1);
  const to = writtenAt + Math.max(Math.ceil(backoff * (1 + JITTER)), asked + 1);
  return { from, to };
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const TIME = "(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d)";
/** The three forms of a date of RFC 9110, 5.6.7. */
const DATES = [
  new RegExp(`^\\w{3}, (?<day>\\d\\d) (?<month>\\w{3}) (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^\\w+day, (?<day>\\d\\d)-(?<month>\\w{3})-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^\\w{3} (?<month>\\w{3}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

/** The seconds of a Retry-After header; 0 for an invalid one. */
function secondsOf(header: string | null | undefined, now: number): number {
  if (header == null) return 0;
  if (/^\d+$/.test(header)) return Number(header);
  const { year, month, day, hour, minute, second } = DATES.map((form) => form.exec(header)?.groups).find(Boolean) ?? {};
  const at = MONTHS.indexOf(month ?? "");
  if (at < 0 || Number(day) < 1 || Number(day) > 31) return 0;
  // A year of two digits is in this century.
  const whole = Number(year) + (year?.length === 2 ? 2000 : 0);
  const then = Date.UTC(whole, at, Number(day), Number(hour), Number(minute), Number(second));
  return Math.max(0, then / 1000 - now);
}
