import * as z from "zod/mini";
import { ACTORS, AUDIT_ACTIONS, auditQuerySchema, listAuditLog, WHO_KINDS } from "../../services/audit.ts";
import { adminCall } from "../admin-call.ts";
import { homesPageSchema } from "../page.ts";
import {
  type CallDocumentation,
  homeName,
  homesDown,
  type NamedSchema,
  page,
  pageQuery,
  queryTime,
  REQUEST_ID_EXAMPLE,
  time,
} from "../words.ts";

const entrySchema = z.object({
  home: z.string(),
  id: z.int(),
  at: z.int(),
  actor: z.enum(ACTORS),
  who: z.nullable(z.object({ kind: z.enum([...WHO_KINDS, "worker"]), id: z.string(), name: z.string() })),
  address: z.nullable(z.string()),
  action: z.enum(AUDIT_ACTIONS),
  subject: z.string(),
  site_id: z.nullable(z.int()),
  request_id: z.nullable(z.string()),
  details: z.record(z.string(), z.unknown()),
});

export default adminCall(
  {
    id: "listAuditLog",
    method: "get",
    path: "/audit",
    role: "viewer",
    scope: "sites",
    audit: [],
    query: auditQuerySchema,
    response: homesPageSchema(entrySchema),
  },
  (c, { query: { site_id: siteId, ...query } }) => listAuditLog(c.var.ctx, { siteId, ...query }),
);

const entry = (): NamedSchema => ({
  name: "AuditEntry",
  schema: entrySchema,
  fields: {
    home: homeName(),
    id: { description: "Higher is later, in one home.", minimum: 1, examples: [17] },
    site_id: { description: "The site; null for what concerns a whole home.", examples: [1] },
    at: time("When."),
    actor: { description: "Whether it came through the admin API or the console, or the Worker did it by itself." },
    who: {
      description: "Who did it; null for a refused sign-in, and for older entries.",
      properties: {
        kind: {
          description: "`root`: who has the ADMIN_TOKEN; `worker`: the Worker, by itself.",
          examples: ["token"],
        },
        id: {
          description:
            "`root`, `worker`, the token's id, the person's e-mail address, or the id of a person with a token.",
          examples: ["tok_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"],
        },
        name: { description: "What they were called then.", examples: ["Nightly export"] },
      },
    },
    address: {
      description: "The network that the call came from: /24 of IPv4, /48 of IPv6.",
      examples: ["192.0.2.0/24"],
    },
    action: { description: "What was done." },
    subject: {
      description: "The id, the appid or the name of what it was done to; empty for several agents at once.",
      examples: ["1"],
    },
    request_id: {
      description: "The `x-request-id` of the call; null when the Worker did it, and for older entries.",
      examples: [REQUEST_ID_EXAMPLE],
    },
    details: {
      description:
        "More of it, different from action to action. What had a value before has `from` and `to`. Never a secret.",
      additionalProperties: true,
      propertyNames: undefined,
    },
  },
});

/** A position in the rows of each home. */
const CURSOR = "^[a-z][a-z0-9-]{0,30}:[0-9]{1,15}(,[a-z][a-z0-9-]{0,30}:[0-9]{1,15})*$";

export const documentation = (): CallDocumentation => {
  const { cursor, ...paging } = pageQuery(CURSOR);
  return {
    summary: "List what operators did",
    chinese: "列出运维方的操作",
    description:
      "Merged from all homes. A home that does not answer is named in `homes_down`, and its entries are missing. With several filters, entries that fit all of them. With a filter other than `site_id`, a page reads 10,000 rows at most: it may have fewer items than `limit`, or none, and yet a `next_cursor`. Steps in the directory (`site.begun`, `app.routed`, `app.released`) are listed with the home `main`.",
    query: {
      ...paging,
      cursor: { ...cursor, description: `${cursor?.description} Give it as it is: what it consists of may change.` },
      site_id: {
        description: "Only what was done to this site.",
        type: "integer",
        minimum: 1,
        maximum: 999_999_999_999_999,
      },
      who: {
        description:
          "Only what they did: the id of a token or a person, an e-mail address, `root` or `worker`; or the whole name.",
        examples: ["ada@example.com"],
      },
      action: { description: "Only this action." },
      subject: {
        description: "Only what was done to this: an id, an appid or a name. Finds each of several agents too.",
        examples: ["10411"],
      },
      since: queryTime("Only from this time on, Unix seconds."),
      until: queryTime("Only up to this time, Unix seconds, itself included. 400 when `since` is after it."),
    },
    response: page("AuditPage", { homes_down: homesDown() }),
    parts: [entry()],
    refusals: [404],
    answered: "A page of the audit log, newest first.",
  };
};
