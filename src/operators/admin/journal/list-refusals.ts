import { listRefusals, refusalQuerySchema } from "../../services/journal.ts";
import { adminCall } from "../admin-call.ts";
import { pageSchema } from "../page.ts";
import { type CallDocumentation, page, pageQuery, queryTime } from "../words.ts";
import { refusal, refusalSchema, withWireName } from "./refusal.ts";

export default adminCall(
  {
    id: "listRefusals",
    method: "get",
    path: "/sites/:site_id/refusals",
    role: "viewer",
    scope: "site",
    audit: [],
    query: refusalQuerySchema,
    response: pageSchema(refusalSchema),
  },
  async (c, { site, query }) => {
    const { items, nextCursor } = await listRefusals(c.var.ctx, { site, ...query });
    return { items: items.map(withWireName), nextCursor };
  },
);

/** A cursor holds the site's id and the id of the last call on the page. */
const CURSOR = "^[1-9][0-9]*:[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";

export const documentation = (): CallDocumentation => ({
  summary: "List a site's refused calls",
  chinese: "列出站点被拒绝的调用",
  description:
    "The journal: calls of known apps that were refused, for `JOURNAL_DAYS` days. In each minute, the first 20 calls of an app have a row each; further ones share one a second in each isolate, or one a minute while signatures do not verify, and `skipped` counts them. Rows come within seconds, by a queue. With a filter, a page looks at 10,000 rows at most: it may have fewer items than `limit`, or none, and yet a `next_cursor`. 400 for a reason that does not exist, and for times that are kept no more.",
  query: {
    ...pageQuery(CURSOR),
    appid: { description: "Only calls of this app.", minLength: 1, maxLength: 64 },
    reason: { description: "Only calls that were refused for this reason." },
    operation: { description: "Only calls of this operation." },
    since: queryTime("Only calls from this time on, Unix seconds. 400 when it is longer ago than calls are kept."),
    until: queryTime(
      "Only calls up to this time, Unix seconds, itself included. 400 when it is longer ago than calls are kept.",
    ),
  },
  response: page("RefusalPage"),
  parts: [{ name: "Refusal", schema: refusalSchema, fields: refusal() }],
  answered: "A page of refused calls, newest first.",
});
