import type { AdminCallId } from "../../operators/admin/calls.ts";
import { type CallWords, QUERY_WORDS } from "./admin-call.ts";

const CURSOR = "^[1-9][0-9]*:[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";
const time = (description: string) => ({ description, type: "integer", minimum: 0, maximum: 99_999_999_999 });

/** The words for the calls about refused calls, by operationId. */
export const journalWords = {
  listRefusals: {
    summary: "List a site's refused calls",
    description:
      "The journal: calls of known apps that were refused, for `JOURNAL_DAYS` days. An app leaves up to one row a second in each isolate, and one a minute while its signatures do not verify; `skipped` counts what was left out. Rows come within seconds, by a queue. With a filter, a page looks at 10,000 rows at most: it may have fewer items than `limit`, or none, and yet a `next_cursor`.",
    query: {
      ...QUERY_WORDS,
      cursor: { ...QUERY_WORDS.cursor, pattern: CURSOR },
      appid: { description: "Only calls of this app.", minLength: 1, maxLength: 64 },
      reason: { description: "Only calls that were refused for this reason." },
      operation: { description: "Only calls of this operation." },
      since: time("Only calls from this time on, Unix seconds. 400 when it is longer ago than calls are kept."),
      until: time(
        "Only calls up to this time, Unix seconds, itself included. 400 when it is longer ago than calls are kept.",
      ),
    },
    answer: { status: 200, schema: "RefusalPage" },
    description200: "A page of refused calls, newest first.",
  },
  readCall: {
    summary: "Find a call of a site by its request id",
    description:
      "A refused call while the journal keeps it. An accepted call that opened a session as long as the session is there; another accepted call for 31 minutes.",
    answer: { status: 200, schema: "FoundCall" },
    refusals: [400],
    description200: "The refused call, or what an accepted call came to.",
  },
  findRefusal: {
    summary: "Find a refused call by its request id, on any site",
    description:
      "Asks every home. 404 only when every home has answered; else 503, and `homes_down` names those that did not. Accepted calls are found by their site only.",
    answer: { status: 200, schema: "RefusalOfSite" },
    refusals: [400, 404],
    description200: "The refused call, and its site.",
  },
} satisfies Partial<Record<AdminCallId, CallWords>>;
