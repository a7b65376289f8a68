import { isReadable, type Readable, type SignedCall } from "./signatures.ts";
import type { Verdict, Writing } from "./verdicts.ts";

/** A signed call, watched from its arrival on. */
export interface WatchedCall extends SignedCall {
  /** The verdicts that it may get, by what was true at some moment since its arrival; by the verdict's text. */
  possible: Map<string, Verdict>;
  /**
   * The call's verdict when it wrote, the time in milliseconds of virtual time, whether it left something to deliver,
   * and the agents who joined.
   */
  committed: { verdict: Writing; at: number; due: boolean; joined: readonly unknown[] } | undefined;
}

export type ReadableCall = Readable<WatchedCall>;

/** The names by which lines of the trace mention the call. */
export const aboutOf = (watched: WatchedCall): string[] => [
  watched.call.name,
  ...(isReadable(watched) ? [watched.reading.appid] : []),
];
