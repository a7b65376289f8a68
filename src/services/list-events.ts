import * as z from "zod/mini";
import type { Site } from "../store/directory/sites.ts";
import * as events from "../store/home/events.ts";
import { pageQuerySchema } from "./page.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

const AFTER_RULE = "must be an integer from 0 to 9007199254740991";

/** Query of GET /admin/sites/:site_id/events. */
export const eventQuerySchema = z.strictObject({
  after: z._default(
    z.pipe(
      z.string().check(z.regex(/^\d{1,16}$/, AFTER_RULE)),
      z.pipe(z.transform(Number), z.int(AFTER_RULE).check(z.minimum(0, AFTER_RULE))),
    ),
    0,
  ),
  limit: pageQuerySchema.shape.limit,
});

/** What happened on a site. `data` is null once it was erased. */
export type SiteEvent = Omit<events.EventRow, "data"> & { data: Record<string, unknown> | null };

/** A site's events with a seq above `after`, the oldest first: for those who would rather pull. */
export async function listEvents(
  ctx: ServiceContext,
  { site, after, limit }: { site: Site; after: number; limit: number },
): Promise<SiteEvent[]> {
  const rows = await events.selectEvents(homeOf(ctx, site), site.id, after, limit);
  return rows.map((row) => ({ ...row, data: JSON.parse(row.data ?? "null") as SiteEvent["data"] }));
}
