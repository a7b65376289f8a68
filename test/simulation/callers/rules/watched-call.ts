import type { SignedCall } from "./signatures.ts";
import type { Verdict, Writing } from "./verdicts.ts";

/** A signed call, watched from its arrival on. */
export interface WatchedCall extends SignedCall {
  /** The verdicts that it may get, by what was true at some moment since its arrival; by the verdict's text. */
  possible: Map<string, Verdict>;
  /** The call's verdict when it wrote, and the agents who joined. */
  committed: { verdict: Writing; joined: readonly unknown[] } | undefined;
}

/** The names by which lines of the trace mention the call. */
export const aboutOf = ({ call, reading }: WatchedCall): string[] => [call.name, reading.appid];
