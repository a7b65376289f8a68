import { unitOf } from "../../core/sent-as.ts";
import type { Finding, Words } from "./words.ts";

const WORDS = {
  fresh: "Fresh.",
  timestamp_old:
    "It is {0} old; {1} s are allowed. If it was fresh when you sent it, this was not the cause then: see the other lines. Otherwise set the sender's clock and sign anew for each try.",
  timestamp_old_local_time:
    "It is {0} old; {1} s are allowed. If you sent it just now, it is a local time, taken for UTC: send the Unix seconds of now. If it was fresh when you sent it, this was not the cause then: see the other lines.",
  timestamp_too_small:
    "It is before the year 2001: is it the seconds since the program started, or a date? Send Unix seconds: {0}.",
  timestamp_milliseconds: "It is in milliseconds. Send Unix seconds: {0}.",
  timestamp_microseconds: "It is in microseconds. Send Unix seconds: {0}.",
  timestamp_date: "It is a date written as digits. Send Unix seconds: {0}.",
  timestamp_ahead: "It is {0} ahead; {1} s are allowed. Set the sender's clock.",
  timestamp_local_time:
    "It is {0} ahead; {1} s are allowed. Set the sender's clock. Is it a local time, taken for UTC?",
} as const;

const SPAN_WORDS = {
  days: "{0} d",
  hours: "{0} h",
  hoursAndMinutes: "{0} h {1} min",
  minutes: "{0} min",
  seconds: "{0} s",
};

export const TIMESTAMP_TEXTS: readonly string[] = [...Object.values(WORDS), ...Object.values(SPAN_WORDS)];

/** The offsets of time zones that are not whole hours from UTC, in seconds. */
const ODD_ZONES = [3.5, 4.5, 5.5, 5.75, 6.5, 8.75, 9.5, 10.5, 12.75].map((hours) => hours * 3_600);

/**
 * What to say of an integer timestamp, and whether it is within the tolerance.
 *
 * @param now       Unix seconds
 * @param tolerance seconds
 */
export function checkTimestamp(timestamp: number, now: number, tolerance: number): Finding {
  const finding = (name: keyof typeof WORDS, ...values: NonNullable<Words["values"]>): Finding => ({
    name,
    words: WORDS[name],
    values,
  });
  const ahead = timestamp - now;
  if (Math.abs(ahead) <= tolerance) return finding("fresh");
  const unit = unitOf(timestamp);
  if (unit === "date_in_digits") return finding("timestamp_date", now);
  if (unit === "microseconds") return finding("timestamp_microseconds", Math.floor(timestamp / 1e6));
  if (unit === "milliseconds") return finding("timestamp_milliseconds", Math.floor(timestamp / 1e3));
  // No clock shows such a value: as seconds it is before 2001.
  if (timestamp < 1e9) return finding("timestamp_too_small", now);
  const hours = zoneOffset(Math.abs(ahead));
  const span = spanWords(hours ?? Math.abs(ahead));
  if (ahead > 0) return finding(hours === undefined ? "timestamp_ahead" : "timestamp_local_time", span, tolerance);
  return finding(hours === undefined ? "timestamp_old" : "timestamp_old_local_time", span, tolerance);
}

/**
 * The offset of a time zone that a distance fits, both in seconds. It is at most 14 hours. The distance may differ by 5 minutes, because
 * pasting the request took time.
 */
function zoneOffset(distance: number): number | undefined {
  const whole = Math.round(distance / 3_600) * 3_600;
  const offset = [...ODD_ZONES, whole].find((each) => Math.abs(distance - each) <= 300);
  return offset !== undefined && offset >= 3_600 && offset <= 14 * 3_600 ? offset : undefined;
}

/** A time span in words: below two minutes in seconds, below two days in hours and minutes, above that in days. */
function spanWords(seconds: number): Words {
  if (seconds < 120) return { words: SPAN_WORDS.seconds, values: [seconds] };
  if (seconds >= 172_800) return { words: SPAN_WORDS.days, values: [Math.round(seconds / 86_400)] };
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return { words: SPAN_WORDS.minutes, values: [minutes] };
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0
    ? { words: SPAN_WORDS.hours, values: [hours] }
    : { words: SPAN_WORDS.hoursAndMinutes, values: [hours, minutes % 60] };
}
