import type { Refusal } from "../store/home/refusals.ts";
import { addWaitingCall } from "./journal.ts";

/** The most rows that unverified calls of an app get in a minute, from all isolates together. One isolate sends 21 rows a minute. */
const MOST_ROWS = 40;

/** The most minutes of apps that the consumer knows; it forgets the oldest first. */
const MOST_MINUTES = 10_000;

/** What the consumer knows of the unverified calls of an app in one minute. */
interface ForgedMinute {
  home: string;
  minute: number;
  /** How many calls have a row. */
  rows: number;
  /** For each operation and reason, the last call without a row. It holds the number of calls before it. */
  withoutRow: Map<string, Refusal>;
}

/** The consumer's memory of forged calls, by site, appid and minute. There is one consumer at a time. */
export type ForgedCalls = Map<string, ForgedMinute>;

const isForged = (row: Partial<Refusal>): row is Refusal =>
  row.secret === null && typeof row.appid === "string" && Number.isInteger(row.at) && Number.isInteger(row.skipped);

/**
 * Chooses the rows of a home that are written now. Rows above the limit of their app and minute are left out. A minute that is over gets
 * one more row for each operation and reason, which counts the rows that were left out.
 *
 * @param now Unix seconds
 * @returns `keep`: remembers that the rows were written
 */
export function takeRows(knownCalls: ForgedCalls, home: string, refusals: readonly Partial<Refusal>[], now: number) {
  const ended = new Map([...knownCalls].filter(([, each]) => each.home === home && (each.minute + 2) * 60 <= now));
  const changed: ForgedCalls = new Map();
  const rows: Partial<Refusal>[] = [...ended.values()].flatMap(({ withoutRow }) => [...withoutRow.values()]);
  for (const row of refusals.toSorted((a, b) => (String(a.requestId) < String(b.requestId) ? -1 : 1))) {
    if (!isForged(row)) {
      rows.push(row);
      continue;
    }
    const minute = Math.floor(row.at / 60);
    const key = `${row.siteId} ${row.appid} ${minute}`;
    const before = ended.has(key) ? undefined : knownCalls.get(key);
    const each = changed.get(key) ?? { home, minute, rows: before?.rows ?? 0, withoutRow: new Map(before?.withoutRow) };
    changed.set(key, each);
    if (each.rows < MOST_ROWS) {
      each.rows++;
      rows.push(row);
    } else addWaitingCall(each.withoutRow, row);
  }
  const keep = () => {
    for (const key of ended.keys()) knownCalls.delete(key);
    for (const [key, each] of changed) knownCalls.set(key, each);
    for (const oldest of knownCalls.keys()) {
      if (knownCalls.size <= MOST_MINUTES) break;
      knownCalls.delete(oldest);
    }
  };
  return { rows, keep };
}
