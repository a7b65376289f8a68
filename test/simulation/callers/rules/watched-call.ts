import type { Session } from "../../checker/home-model.ts";
import type { SignedCall } from "./signatures.ts";
import type { Verdict, Writing } from "./verdicts.ts";

/** A signed call, watched from its arrival on. */
export interface WatchedCall extends SignedCall {
  /** The verdicts that it may get, by what was true at some moment since its arrival; by the verdict's text. */
  possible: Map<string, Verdict>;
  /** The call's verdict when it wrote, the agents who joined, and the session if it was there before. */
  committed: { verdict: Writing; joined: readonly unknown[]; session: Session | undefined } | undefined;
}

/** The names by which lines of the trace mention the call. */
export const aboutOf = ({ call, reading }: WatchedCall): string[] => [call.name, reading.appid];
