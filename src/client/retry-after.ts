import type { AnswerHeaders } from "./platform.ts";

/** A comma between two values. The comma in `Wed, 21 Oct 2026 07:28:00 GMT` or in `1,000` (Java's MessageFormat) does not match. */
const BETWEEN_VALUES = /(?<!\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*),(?!\d{3}\b)/i;

/**
 * How many whole seconds an answer asks to wait by `Retry-After`. Each proxy on the way may have added a header, and fetch joins them.
 * The longest wait counts. A date is compared with the answer's own `Date`. Without that, it is compared with this machine's clock.
 *
 * @returns undefined when there is no header or no digit in it; Infinity when the header cannot be read
 */
export function retryAfterOf(headers: AnswerHeaders): number | undefined {
  const since = Math.min(...datesOf(headers.get("date")));
  const now = Number.isFinite(since) ? since : Date.now();
  const waits = valuesOf(headers.get("retry-after")).flatMap((value) => secondsFrom(value, now));
  return waits.length === 0 ? undefined : Math.max(0, Math.ceil(Math.max(...waits)));
}

/** HTTP dates, in any of their three forms, as Unix milliseconds. The asctime form names no zone, but is GMT too. */
export const datesOf = (header: string | null): number[] => valuesOf(header).flatMap(dateOf);

const valuesOf = (header: string | null): string[] =>
  (header ?? "")
    .split(BETWEEN_VALUES)
    .map((value) => value.trim())
    .filter((value) => value !== "");

/**
 * The standard has whole seconds or a date. Any other number counts as seconds: `30.0`, `+30`, `1e3`, `30 sec`, `"30"`. Any other text with
 * a digit (`1m`, `00:02:00`, `1,000`) may mean any time, so it counts as too long to wait for.
 */
function secondsFrom(value: string, now: number): number[] {
  if (!/\d/.test(value)) return [];
  const number = Number(value.replace(/^["']?([^"']*?)(?:s(?:ec(?:ond)?s?)?)?["']?$/i, "$1"));
  if (!Number.isNaN(number)) return [number];
  const [date] = dateOf(value);
  return [date === undefined ? Infinity : (date - now) / 1000];
}

function dateOf(value: string): number[] {
  // Date.parse() accepts almost any text with a digit. So a date must have a month's name and a time of day, or the form of ISO 8601.
  if (!/[a-z]{3}.*\d:\d\d|^\d{4}-\d\d-\d\d/i.test(value)) return [];
  // JavaScript prints the zone's name in brackets after the offset.
  const hasZone = /(?:[a-z]|[+-]\d\d:?\d\d)(?: \(.*\))?$/i.test(value) || !value.includes(":");
  const milliseconds = Date.parse(hasZone ? value : `${value} GMT`);
  return Number.isNaN(milliseconds) ? [] : [milliseconds];
}
