import * as z from "zod/mini";
import { metricsQuerySchema, readMetricFamilies } from "../../services/metrics.ts";
import { OPENMETRICS_TYPE, openMetrics } from "../../usage/openmetrics.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";

export default adminCall(
  {
    id: "readMetrics",
    method: "get",
    path: "/metrics",
    role: "metrics",
    scope: "deployment",
    audit: [],
    query: metricsQuerySchema,
    response: z.string(),
  },
  async (c, { query }) =>
    c.body(openMetrics(await readMetricFamilies(c.var.ctx, query)), 200, { "content-type": OPENMETRICS_TYPE }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Read the metrics",
  chinese: "读取指标",
  description:
    "For a scraper such as Prometheus: counters that only rise, and gauges of each home as the cron saw it last, every five minutes. Asks the directory, KV and the queues, and no home: a silent home delays nothing, and what it said last stands.",
  query: {
    by: {
      description: "`site`: calls with the labels `site` and `app`, events with `site`. Leave out for the sums.",
    },
  },
  response: {
    name: "Metrics",
    whole: {
      description: "OpenMetrics 1.0, ends with `# EOF`.",
      examples: [
        '# TYPE agent_session_calls counter\n# HELP agent_session_calls Signed calls of known apps.\nagent_session_calls_total{operation="create_gd",outcome="ok"} 1204\n# EOF\n',
      ],
    },
  },
  media: "application/openmetrics-text",
  answered: "The metrics.",
});
