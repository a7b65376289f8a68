import type { Model } from "../model.ts";
import { EITHER, type Refused, UNVERIFIED } from "./wrong-row.ts";

/** A row that was stored, or that a queue has lost or still has. */
export interface Counted {
  skipped: number;
}

/** A call that an isolate has answered for a known app. Such calls send the rows that are due. */
export interface Served {
  isolate: string;
  /** Milliseconds of virtual time. */
  at: number;
}

/** The refused calls of one isolate, app, operation and reason, in the order of the log. */
export type Stream = Refused[];

/** Milliseconds that the work after an answer may wait for the work after an earlier answer to go on. */
const WATCHED_MS = 1_100;
/** For how long, in milliseconds, the work after one answer may keep later calls from beginning theirs. */
const WATCH_MS = 7_100;
/** Milliseconds in which an app whose signatures do not verify gets one row. */
const SLOW_MS = 61_000;
/** The most operations and reasons of one app whose rows the work after one answer certainly brings on their way. */
const MOST_WAITING = 3;

/** What the end of a stream may be excused by. */
export interface Ends {
  model: Model;
  /** The isolates that are alive. */
  isolates: ReadonlySet<string>;
  /** When calls of an isolate were cut off last, in milliseconds of virtual time. */
  cutOff: ReadonlyMap<string, number>;
  served: readonly Served[];
  /** How many operations and reasons the app has in this isolate. */
  kinds: number;
}

/**
 * Walks a stream.
 *
 * @returns how a row does not count the calls that were left out before it, or which call at the end is in none
 */
export function wrongStream(stream: Stream, rows: ReadonlyMap<string, Counted>, ends: Ends): string | undefined {
  const [{ reason }] = stream as [Refused];
  // Verified and unverified calls are counted apart, and here nobody can tell them apart.
  if (EITHER.includes(reason)) return wrongSum(stream, rows, ends);
  let left: Refused[] = [];
  for (const refused of stream) {
    const row = rows.get(refused.requestId);
    if (row !== undefined && row.skipped !== left.length) {
      return `${refused.call.name} ${refused.requestId} has skipped ${row.skipped}, ${left.length} were left out before`;
    }
    left = row === undefined ? [...left, refused] : [];
  }
  const [first] = left;
  return first === undefined || isExcused(first, ends)
    ? undefined
    : `${first.call.name} is in none: ${first.requestId}`;
}

function wrongSum(stream: Stream, rows: ReadonlyMap<string, Counted>, ends: Ends): string | undefined {
  const counted = stream.reduce((sum, { requestId }) => {
    const row = rows.get(requestId);
    return row === undefined ? sum : sum + row.skipped + 1;
  }, 0);
  if (counted > stream.length) return `${counted} are counted of ${stream.length}`;
  const known = stream.filter(({ isKnown }) => isKnown);
  const first = known.find(({ requestId }) => !rows.has(requestId));
  if (counted >= known.length || first === undefined || isExcused(first, ends)) return undefined;
  return `${counted} are counted of ${known.length}`;
}

/** Whether the calls from this one on may be in no row: the isolate has had no time or no occasion to send it. */
function isExcused({ isolate, at, reason }: Refused, { isolates, cutOff, served, kinds }: Ends): boolean {
  if (!isolates.has(isolate)) return true;
  if ((cutOff.get(isolate) ?? Number.NEGATIVE_INFINITY) >= at - WATCHED_MS) return true;
  const later = served.filter((each) => each.isolate === isolate && each.at > at);
  if (!UNVERIFIED.includes(reason) && !EITHER.includes(reason)) {
    return kinds > MOST_WAITING && !later.some((each) => each.at > at + WATCH_MS);
  }
  let turns = 0;
  let since = at;
  for (const each of later) {
    if (each.at < since + SLOW_MS) continue;
    turns++;
    since = each.at;
  }
  return turns <= kinds;
}
