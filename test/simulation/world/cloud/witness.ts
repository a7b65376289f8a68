import type { Post } from "../../deliveries/acts/post.ts";
import type { RowChange } from "../../platform/database.ts";
import type { Call, Trip } from "../call.ts";
import type { Home } from "./home.ts";

/** Receives everything that happens on the platform. */
export interface CloudWitness {
  /** A call reached an isolate. */
  arrives(call: Call): void;
  /** A transaction has changed rows; `call` is undefined for SQL by hand. */
  commits(home: Home, call: Call | undefined, changes: RowChange[]): void;
  /** The Worker has answered. The answer may still be lost on its way. */
  answers(call: Call): void;
  /** The call will never be answered: its isolate died, or it was cut off. */
  ends(call: Call): void;
  /** The call is answered, and all work that it registered with waitUntil has ended. */
  isOver(call: Call): void;
  /** A call that is over makes one more call of the platform. */
  goesOn(call: Call, trip: Trip): void;
  /** A call sends a query to a home. */
  asks(call: Call, home: string): void;
  /** An answer of a home, or an error, has reached a call. */
  getsAnswer(call: Call, home: string): void;
  /** Work in a call's waitUntil has failed, or the cron job has thrown. */
  fails(call: Call, error: unknown): void;
  /** The Worker sends a post. */
  posts(post: Post): void;
  /** The receiver has received all of a post. */
  takes(post: Post): void;
  /** The Worker receives the status of a post's answer. */
  hears(post: Post): void;
  /** The Worker will never receive an answer to a post. */
  misses(post: Post): void;
  /** Writes a line of the trace, and counts it under its kind. */
  note(call: Call | undefined, what: string, kind?: string): void;
  /** An isolate writes to its log; `call` is the one whose work it is. */
  logs(isolate: string, call: Call | undefined, record: object): void;
}
