import * as z from "zod/mini";
import { PING } from "../../core/store/event-schema.ts";
import { selectMetrics } from "../store/usage/directory-metrics.ts";
import type { Counter, Gauges } from "../store/usage/home-metrics.ts";
import type { MetricFamily, Sample } from "../usage/openmetrics.ts";
import { PART_STATES, PARTS, type PartStates, readParts, unboundHomes } from "./health.ts";
import { OPERATIONS, REFUSAL_REASONS, wireNameOf } from "./journal.ts";
import type { ServiceContext } from "./service-context.ts";
import { outcomeName } from "./usage.ts";
import { EVENT_TYPES } from "./webhooks.ts";

/** Query of GET /admin/metrics. */
export const metricsQuerySchema = z.strictObject({
  by: z.optional(z.enum(["site"], "must be site")),
});

/** A counter of a site, or of all sites together. */
type SiteCounter = Counter & { siteId?: number };

/** Answers that are no refusals. */
const ACCEPTED_OUTCOMES = ["ok", "repeated"];

/** The series that exist from the beginning, at 0: a scraper does not see the first rise of a series that it does not know. */
const KNOWN_LABELS = {
  calls: OPERATIONS.flatMap(({ wireName }) =>
    [...ACCEPTED_OUTCOMES, "refused"].map((outcome) => ({ operation: wireName, outcome })),
  ),
  refusals: REFUSAL_REASONS.map((reason) => ({ reason })),
  events: [...EVENT_TYPES, PING].map((type) => ({ type })),
  attempts: ["delivered", "failed", "skipped"].map((outcome) => ({ outcome })),
};

/**
 * The metrics for a scraper. The directory has the last numbers of each home, so a silent home delays no scrape. KV, the queues and the
 * master key are asked now, for two seconds at most.
 *
 * @param input `by`: `site` gives the counters of calls and events for each site, and those of calls for each app
 */
export async function readMetricFamilies(
  ctx: ServiceContext,
  { by }: { by?: "site" | undefined },
): Promise<MetricFamily[]> {
  const { directory, homes: bound, closedHomes } = ctx.config;
  const [{ homes, sites }, parts, unbound] = await Promise.all([
    selectMetrics(directory, by === "site"),
    readParts(ctx),
    unboundHomes(ctx),
  ]);
  const whole = homes.flatMap(({ counters }) => counters);
  const countersBySite = [...sites].flatMap(([siteId, counters]) => counters.map((each) => ({ ...each, siteId })));
  const knownHomes = new Map(homes.map((each) => [each.home, each]));
  const homeMetrics = [...bound.keys()].map((home) => ({
    home,
    isClosed: closedHomes.has(home),
    ...knownHomes.get(home),
  }));
  // Homes that are no longer bound have no gauges, because nothing new is known of them. Their counters still count.
  const shown = by === "site" ? { of: countersBySite, known: undefined } : { of: whole, known: KNOWN_LABELS };
  return [...counterFamilies(whole, shown), ...gaugeFamilies(homeMetrics, unbound, ctx.now), partFamily(parts)];
}

/** A series for each state, so that an alert sees a part change from one to another. */
const partFamily = (parts: PartStates): MetricFamily => ({
  name: "agent_session_part_state",
  type: "gauge",
  help: "1 for the state that a part is in, 0 for the others.",
  samples: PARTS.flatMap((part) =>
    PART_STATES.map((state) => ({ labels: { part, state }, value: Number(parts[part] === state) })),
  ),
});

function counterFamilies(
  whole: readonly SiteCounter[],
  { of: countersBySite, known }: { of: readonly SiteCounter[]; known: typeof KNOWN_LABELS | undefined },
): MetricFamily[] {
  const calls = countersBySite
    .filter(({ name }) => name === "calls")
    .map((each) => ({ ...each, outcome: outcomeName(each.outcome) }));
  const events = countersBySite.filter(({ name }) => name === "events");
  const attempts = whole.filter(({ name }) => name === "attempts");
  const isDone = ({ outcome }: SiteCounter) => ACCEPTED_OUTCOMES.includes(outcome);
  return [
    {
      name: "agent_session_calls",
      type: "counter",
      help: "Signed calls of known apps, by operation and outcome: ok, repeated or refused. Half an hour behind.",
      samples: sumsByLabels(
        calls,
        (call) => ({
          ...siteLabels(call),
          operation: wireNameOf(call.kind),
          outcome: isDone(call) ? call.outcome : "refused",
        }),
        known?.calls,
      ),
    },
    {
      name: "agent_session_refusals",
      type: "counter",
      help: "Refused calls of known apps, by reason. Half an hour behind.",
      samples: sumsByLabels(
        calls.filter((call) => !isDone(call)),
        (call) => ({ ...siteLabels(call), reason: call.outcome }),
        known?.refusals,
      ),
    },
    {
      name: "agent_session_events",
      type: "counter",
      help: "Events made, by type.",
      samples: sumsByLabels(
        events,
        ({ siteId, kind }) => ({
          ...(siteId !== undefined && { site: String(siteId) }),
          type: kind,
        }),
        known?.events,
      ),
    },
    {
      name: "agent_session_delivery_attempts",
      type: "counter",
      help: "Attempts to deliver an event whose results were recorded, by outcome.",
      samples: sumsByLabels(attempts, ({ outcome }) => ({ outcome }), KNOWN_LABELS.attempts),
    },
  ];
}

const siteLabels = ({ siteId, appid }: SiteCounter) =>
  siteId === undefined ? {} : { site: String(siteId), app: appid };

/** Adds up the counters that have the same labels. Sorts them, so that two scrapes are easy to compare. */
function sumsByLabels(
  counted: readonly SiteCounter[],
  labelsOf: (each: SiteCounter) => Record<string, string>,
  knownLabels: readonly Record<string, string>[] = [],
): Sample[] {
  const samples = new Map(knownLabels.map((labels) => [JSON.stringify(labels), { labels, value: 0 }]));
  for (const each of counted) {
    const labels = labelsOf(each);
    const key = JSON.stringify(labels);
    const sample = samples.get(key) ?? { labels, value: 0 };
    sample.value += each.count;
    samples.set(key, sample);
  }
  return [...samples].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sample]) => sample);
}

/** A bound home with its last numbers. Without `at` it has sent none yet. */
interface HomeWithMetrics {
  home: string;
  isClosed: boolean;
  at?: number;
  gauges?: Gauges;
}

function gaugeFamilies(homes: readonly HomeWithMetrics[], unbound: readonly string[], now: number): MetricFamily[] {
  const each = (
    value: (gauges: Gauges, at: number) => number | null | undefined,
    labels: Record<string, string> = {},
  ) =>
    homes.flatMap(({ home, at, gauges }): Sample[] => {
      const gaugeValue = at === undefined || gauges === undefined ? undefined : value(gauges, at);
      return gaugeValue === undefined || gaugeValue === null
        ? []
        : [{ labels: { home, ...labels }, value: gaugeValue }];
    });
  const gauge = (name: string, help: string, samples: Sample[], unit?: "bytes" | "seconds"): MetricFamily => ({
    name: `agent_session_home_${name}`,
    type: "gauge",
    ...(unit !== undefined && { unit }),
    help,
    samples,
  });
  return [
    gauge(
      "size_bytes",
      "The size of the database. D1 takes nothing more at 10 GB.",
      each(({ size }) => size),
      "bytes",
    ),
    gauge("sites", "Sites, by status.", [
      ...each(({ openSites }) => openSites, { status: "open" }),
      ...each(({ closedSites }) => closedSites, { status: "closed" }),
    ]),
    gauge("deliveries", "Deliveries that are pending or have failed. Counted up to 10000.", [
      ...each(({ pending }) => pending, { status: "pending" }),
      ...each(({ failed }) => failed, { status: "failed" }),
    ]),
    gauge(
      "oldest_pending_delivery_age_seconds",
      "How long the oldest pending delivery has waited; 0 without any.",
      each(({ oldestPendingAt }, at) => (oldestPendingAt === null ? 0 : Math.max(0, at - oldestPendingAt))),
      "seconds",
    ),
    gauge("webhooks", "Webhooks that fail or are disabled.", [
      ...each(({ failing }) => failing, { state: "failing" }),
      ...each(({ disabled }) => disabled, { state: "disabled" }),
    ]),
    gauge(
      "prune_lag_seconds",
      "How long pruning of used ranstr, and with it counting, is behind.",
      each(({ pruneLag }) => pruneLag),
      "seconds",
    ),
    gauge(
      "silence_seconds",
      "Seconds since the home last answered the cron; +Inf when it never has, or has sites and is not bound.",
      [...homes, ...unbound.map((home): { home: string; at?: number } => ({ home }))].map(({ home, at }) => ({
        labels: { home },
        value: at === undefined ? Infinity : Math.max(0, now - at),
      })),
      "seconds",
    ),
    gauge(
      "closed",
      "1 while an operator has closed the home, 0 otherwise.",
      homes.map(({ home, isClosed }) => ({ labels: { home }, value: Number(isClosed) })),
    ),
    gauge(
      "observed_timestamp_seconds",
      "When the home said what the other gauges show, in Unix seconds.",
      each((_, at) => at),
      "seconds",
    ),
    gauge(
      "usage_complete_timestamp_seconds",
      "Up to when all calls are counted, in Unix seconds.",
      each(({ completeUntil }) => completeUntil),
      "seconds",
    ),
  ];
}
