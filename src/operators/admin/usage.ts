import { wireNameOf } from "../services/journal.ts";
import { metricsQuerySchema, readMetricFamilies } from "../services/metrics.ts";
import { type LastUse, outcomeName, readUsage, type UsageItem, usageQuerySchema } from "../services/usage.ts";
import { OPENMETRICS_TYPE, openMetrics } from "../usage/openmetrics.ts";
import { adminCall } from "./call.ts";

const shownItem = ({ at, appid, operation, outcome, count }: UsageItem) => ({
  at,
  appid,
  operation: wireNameOf(operation),
  outcome: outcomeName(outcome),
  count,
});

const shownLastUse = ({ appid, lastUsedAt, previousSecretUsedAt }: LastUse) => ({
  appid,
  last_used_at: lastUsedAt,
  previous_secret_used_at: previousSecretUsedAt,
});

export const usageCalls = [
  adminCall(
    {
      id: "readUsage",
      method: "get",
      path: "/sites/:site_id/usage",
      role: "viewer",
      scope: "site",
      audit: [],
      query: usageQuerySchema,
    },
    async (c, { site, query }) => {
      const { items, apps, completeUntil } = await readUsage(c.var.ctx, { site, ...query });
      return c.json({
        items: items.map(shownItem),
        apps: apps.map(shownLastUse),
        complete_until: completeUntil,
      });
    },
  ),

  adminCall(
    {
      id: "readMetrics",
      method: "get",
      path: "/metrics",
      role: "viewer",
      scope: "deployment",
      audit: [],
      query: metricsQuerySchema,
    },
    async (c, { query }) =>
      c.body(openMetrics(await readMetricFamilies(c.var.ctx, query)), 200, { "content-type": OPENMETRICS_TYPE }),
  ),
];
