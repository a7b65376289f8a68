import * as z from "zod/mini";
import { APPID } from "../../core/credentials/resolve-credentials.ts";
import { invalidInput } from "../../core/errors.ts";
import { OPERATIONS } from "../../core/operations/index.ts";
import { REQUEST_ID, timeOfRequest } from "../../core/request-id.ts";
import { REFUSAL_REASONS } from "../../core/signed/refusal-reasons.ts";
import type { Site } from "../store/directory/sites.ts";
import { countRefusals, type Refusal, type RefusalCount, selectRefusals } from "../store/home/refusals.ts";
import { CURSOR_RULE, checkOrder, type Page, type PageInput, pageQuerySchema, unixTimeSchema } from "./page.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export { OPERATIONS } from "../../core/operations/index.ts";
export { codeOfReason, REFUSAL_REASONS } from "../../core/signed/refusal-reasons.ts";
export { MOST_READ, type Refusal } from "../store/home/refusals.ts";

const WIRE_NAMES = OPERATIONS.map(({ wireName }) => wireName);
const APPID_RULE = "must be an appid";

/** Query of GET /admin/sites/:site_id/refusals. */
export const refusalQuerySchema = z.extend(pageQuerySchema, {
  appid: z.optional(z.string().check(z.regex(APPID, APPID_RULE))),
  reason: z.optional(z.enum(REFUSAL_REASONS as [string, ...string[]], `must be one of ${REFUSAL_REASONS.join(", ")}`)),
  operation: z.optional(z.enum(WIRE_NAMES as [string, ...string[]], `must be ${WIRE_NAMES.join(" or ")}`)),
  since: z.optional(unixTimeSchema),
  until: z.optional(unixTimeSchema),
});

/** Which refused calls of a site are wanted. */
interface ListRefusals extends PageInput {
  site: Site;
  appid?: string | undefined;
  reason?: string | undefined;
  /** The name of the call, such as `create_gd`. */
  operation?: string | undefined;
  /** Unix seconds, both included; by default everything that is kept. */
  since?: number | undefined;
  until?: number | undefined;
}

/**
 * A page of a site's refused calls, newest first. With a filter, a page looks at 10,000 rows at most, so it may have fewer items than
 * `limit` and still a next page.
 *
 * @returns `lookedTo`: the time of the oldest row that was looked at, in Unix seconds, when 10,000 rows did not fill the page
 * @throws ServiceError `invalid_input` for a malformed cursor or that of another site, and for times that are not stored
 */
export async function listRefusals(
  ctx: ServiceContext,
  input: ListRefusals,
): Promise<Page<Refusal> & { lookedTo: number | null }> {
  const { site, appid, reason, limit } = input;
  const before = readCursor(input);
  const filter = { appid, reason, ...rangeOf(ctx, input) };
  const { rows, next } = await selectRefusals(homeOf(ctx, site), site.id, filter, before, limit);
  const lookedTo = next !== null && rows.length < limit ? timeOfRequest(next) : null;
  return { items: rows, nextCursor: next && `${site.id}:${next}`, lookedTo };
}

/** Calls by app or by reason, the most frequent first. */
type Sums = [key: string, calls: number][];

/**
 * How many calls were refused, by app and by reason, each with the other filters. Counts the newest 10,000 rows that the journal has of
 * the time.
 *
 * @returns `isWhole`: false when older rows of that time were not counted
 * @throws ServiceError `invalid_input` for times that are not stored
 */
export async function tallyRefusals(
  ctx: ServiceContext,
  input: Omit<ListRefusals, keyof PageInput>,
): Promise<{ byApp: Sums; byReason: Sums; isWhole: boolean }> {
  const { site, appid, reason } = input;
  const { counts, isWhole } = await countRefusals(homeOf(ctx, site), site.id, rangeOf(ctx, input));
  const sumsBy = (name: "appid" | "reason", rows: RefusalCount[]): Sums =>
    [...Map.groupBy(rows, (row) => row[name])]
      .map(([key, each]): Sums[number] => [key, each.reduce((sum, { calls }) => sum + calls, 0)])
      .sort(([, a], [, b]) => b - a);
  return {
    byApp: sumsBy(
      "appid",
      counts.filter((row) => reason === undefined || row.reason === reason),
    ),
    byReason: sumsBy(
      "reason",
      counts.filter((row) => appid === undefined || row.appid === appid),
    ),
    isWhole,
  };
}

/** The time and the operation's name of a filter. @throws ServiceError `invalid_input` for times that are not stored */
function rangeOf(ctx: ServiceContext, input: Pick<ListRefusals, "operation" | "since" | "until">) {
  const { since, until } = input;
  const keptSince = ctx.now - ctx.config.journalDays * 86_400;
  const keptDaysRule = `must be within the last ${ctx.config.journalDays} days: older calls are kept no more`;
  if (since !== undefined && since < keptSince) throw invalidInput([{ field: "since", message: keptDaysRule }]);
  if (until !== undefined && until < keptSince) throw invalidInput([{ field: "until", message: keptDaysRule }]);
  checkOrder(input);
  const operation = OPERATIONS.find(({ wireName }) => wireName === input.operation)?.name;
  return { operation, since: since ?? keptSince, until: until ?? ctx.now + CLOCKS_DIFFER };
}

/** The id of a call has the time of its isolate. That clock may be ahead by this many seconds. */
export const CLOCKS_DIFFER = 60;

function readCursor({ site, cursor }: Pick<ListRefusals, "site" | "cursor">): string | undefined {
  if (cursor === undefined) return undefined;
  const [siteId, requestId = "", ...more] = cursor.split(":");
  if (siteId === String(site.id) && REQUEST_ID.test(requestId) && more.length === 0) return requestId;
  throw invalidInput([{ field: "cursor", message: CURSOR_RULE }]);
}

export const wireNameOf = (operation: string): string =>
  OPERATIONS.find(({ name }) => name === operation)?.wireName ?? operation;
