import type { AdminCallId } from "../../operators/admin/calls.ts";
import { type CallWords, QUERY_WORDS } from "./admin-call.ts";

const HOMES_CURSOR = {
  ...QUERY_WORDS,
  cursor: {
    description: `${QUERY_WORDS.cursor.description} Give it as it is: what it consists of may change.`,
    pattern: "^[a-z][a-z0-9-]{0,30}:[0-9]{1,15}(,[a-z][a-z0-9-]{0,30}:[0-9]{1,15})*$",
  },
};

const unixTime = (description: string) => ({ description, type: "integer", minimum: 0, maximum: 99_999_999_999 });

/** The words for the calls about the audit log, by operationId. */
export const auditWords = {
  listAuditLog: {
    summary: "List what operators did",
    description:
      "Merged from all homes. A home that does not answer is named in `homes_down`, and its entries are missing. With several filters, entries that fit all of them.",
    query: {
      ...HOMES_CURSOR,
      site_id: {
        description: "Only what was done to this site.",
        type: "integer",
        minimum: 1,
        maximum: 999_999_999_999_999,
      },
      who: {
        description: "Only what they did: a token's id, an e-mail address, `root` or `worker`; or the whole name.",
        examples: ["ada@example.com"],
      },
      action: { description: "Only this action." },
      subject: {
        description: "Only what was done to this: an id, an appid or a name. Finds each of several agents too.",
        examples: ["10411"],
      },
      since: unixTime("Only from this time on, Unix seconds."),
      until: unixTime("Only up to this time, Unix seconds, itself included. 400 when `since` is after it."),
    },
    answer: { status: 200, schema: "AuditPage" },
    refusals: [404],
    description200: "A page of the audit log, newest first.",
  },
} satisfies Partial<Record<AdminCallId, CallWords>>;
