import { isReadable, type Readable, type SignedCall } from "./signatures.ts";
import type { Verdict, Writing } from "./verdicts.ts";

/** A signed call from its arrival on. */
export interface WatchedCall extends SignedCall {
  /** What it may come to, by what was true at some moment since it arrived; by the verdict's text. */
  possible: Map<string, Verdict>;
  /** What it came to when it wrote, when, in milliseconds of virtual time, whether that left something to deliver, and who joined. */
  committed: { verdict: Writing; at: number; due: boolean; joined: readonly unknown[] } | undefined;
}

export type ReadableCall = Readable<WatchedCall>;

/** What the lines of the trace have in common that tell of a call. */
export const aboutOf = (watched: WatchedCall): string[] => [
  watched.call.name,
  ...(isReadable(watched) ? [watched.reading.appid] : []),
];
