import type { Change } from "../../platform/database.ts";
import type { Call, Trip } from "../call.ts";
import type { Post } from "../receivers/post.ts";
import type { Home } from "./home.ts";

/** Who is told of everything that happens on the platform. */
export interface Witness {
  /** A call reached an isolate. */
  arrives(call: Call): void;
  /** A transaction has changed rows; `call` is undefined for a hand at the database. */
  commits(home: Home, call: Call | undefined, changes: Change[]): void;
  /** The Worker has answered, which does not say that the answer gets through. */
  answers(call: Call): void;
  /** The call will never be answered: its isolate died, or it was cut off. */
  ends(call: Call): void;
  /** The call is answered, and nothing that it has registered with waitUntil is under way. */
  isOver(call: Call): void;
  /** A call that is over asks something more. */
  goesOn(call: Call, trip: Trip): void;
  /** Work that a call left to waitUntil has failed, or cron has thrown. */
  fails(call: Call, error: unknown): void;
  /** The Worker posts to somebody. */
  posts(post: Post): void;
  /** The receiver has all of a post. */
  takes(post: Post): void;
  /** The Worker gets the status of the answer. */
  hears(post: Post): void;
  /** The Worker never gets one. */
  misses(post: Post): void;
  /** Something to remember in the trace, and what to count it as. */
  note(call: Call | undefined, what: string, kind?: string): void;
  /** An isolate writes to its log. */
  logs(isolate: string, record: object): void;
}
