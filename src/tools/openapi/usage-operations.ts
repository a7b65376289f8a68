import type { AdminCallId } from "../../operators/admin/calls.ts";
import type { CallWords } from "./admin-call.ts";

const time = (description: string) => ({ description, type: "integer", minimum: 0, maximum: 99_999_999_999 });

/** The words for the calls about usage, by operationId. */
export const usageWords = {
  readUsage: {
    summary: "Read a site's usage",
    description:
      "How many calls came to what, by hours or by days of UTC, and when the apps' secrets were last used. Half an hour behind: no hour or day that begins after `complete_until` is in it, and the one in which it lies is not whole. Hours are kept for 14 days and days for 400. Calls of unknown apps are not counted.",
    query: {
      by: { description: "Hours, or days of UTC." },
      since: time(
        "Only hours or days that begin from this time on, Unix seconds. 400 when it is longer ago than kept.",
      ),
      until: time(
        "Only hours or days that begin up to this time, Unix seconds, itself included. 400 when it is longer ago than kept.",
      ),
      appid: { description: "Only calls of this app.", minLength: 1, maxLength: 64 },
    },
    answer: { status: 200, schema: "Usage" },
    description200: "The usage.",
  },
  readMetrics: {
    summary: "Read the metrics",
    description:
      "For a scraper such as Prometheus: counters that only rise, and gauges of each home as the cron saw it last, every five minutes. Reads the directory alone: a silent home delays nothing, and what it said last stands.",
    query: {
      by: {
        description: "`site`: calls with the labels `site` and `app`, events with `site`. Leave out for the sums.",
      },
    },
    answer: { status: 200, schema: "Metrics", media: "application/openmetrics-text" },
    description200: "The metrics.",
  },
} satisfies Partial<Record<AdminCallId, CallWords>>;
