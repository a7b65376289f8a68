import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { webhooks } from "../../../core/store/event-schema.ts";
import { apps } from "../../../core/store/schema.ts";
import { eachRow } from "../json-rows.ts";
import { usage } from "../usage-schema.ts";

/** What a list of sites says of a site's calls and webhooks. */
export interface SiteActivity {
  calls: number;
  refused: number;
  webhooks: number;
  /** How many webhooks the Worker has disabled, or fail. */
  troubled: number;
}

/**
 * The calls in these hours, and the webhooks, of each of these sites that has any. One statement, which reads some rows for each hour of
 * each app.
 *
 * @param range `since` and `until`: the beginnings of the first hour and of the hour after the last; `failingBefore`: webhooks that fail
 *   since then or longer are in trouble. All in Unix seconds
 */
export async function selectActivity(
  db: D1Database,
  sites: readonly number[],
  { since, until, failingBefore }: { since: number; until: number; failingBefore: number },
): Promise<Map<number, SiteActivity>> {
  const isRefused = sql`${usage.outcome} NOT IN ('accepted', 'repeated')`;
  const isDisabled = sql`${webhooks.status} = 'disabled' AND ${webhooks.disabledReason} IS NOT NULL`;
  const isFailing = sql`${webhooks.status} = 'enabled' AND ${webhooks.failingSince} <= ${failingBefore}`;
  const rows = await drizzle(db).all<SiteActivity & { siteId: number }>(sql`
    WITH asked AS (SELECT value AS site FROM ${eachRow([...sites])})
    SELECT siteId, sum(calls) AS calls, sum(refused) AS refused, sum(hooks) AS webhooks, sum(troubled) AS troubled FROM (
      SELECT site AS siteId, ${usage.count} AS calls, CASE WHEN ${isRefused} THEN ${usage.count} ELSE 0 END AS refused, 0 AS hooks, 0 AS troubled
        FROM asked CROSS JOIN ${apps} CROSS JOIN ${usage}
        WHERE ${apps.siteId} = site AND ${usage.siteId} = site AND ${usage.appid} = ${apps.appid}
          AND ${usage.hour} >= ${since} AND ${usage.hour} < ${until}
      UNION ALL
      SELECT site, 0, 0, 1, (${isDisabled}) OR coalesce(${isFailing}, 0)
        FROM asked CROSS JOIN ${webhooks} WHERE ${webhooks.siteId} = site
    ) GROUP BY siteId`);
  return new Map(rows.map(({ siteId, ...activity }) => [siteId, activity]));
}
