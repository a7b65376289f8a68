import type { Defect } from "./defect.ts";

const PRUNER = "src/store/pruner.ts";
const CALLS = "src/store/home/count-calls.ts";
const EVENTS = "src/store/home/count-events.ts";
const FOLDS = "src/store/home/folds.ts";
const METRICS = "src/store/home/metrics.ts";
const USAGE = "src/store/home/usage.ts";
const FOLD = "src/store/prune-usage.ts";
const DIRECTORY = "src/store/directory/metrics.ts";
const JOURNAL = "src/journal/write-journal.ts";
const RUN = "src/webhooks/home-run.ts";
const TEXT = "src/telemetry/openmetrics.ts";
const FAMILIES = "src/services/metrics.ts";

/** Defects of usage and metrics. */
export const USAGE_DEFECTS: Defect[] = [
  {
    name: "count-after-delete",
    what: "Nonces are deleted before they are counted.",
    edits: [
      { file: PRUNER, find: "          ...before,\n", replace: "" },
      {
        file: PRUNER,
        find: "...(hasExpired === 1 ? [store.delete(table).where(which)] : []),",
        replace: "...(hasExpired === 1 ? [store.delete(table).where(which), ...before] : []),",
      },
      { file: PRUNER, find: "(results[before.length] as D1Result)", replace: "(results[0] as D1Result)" },
    ],
  },
  {
    name: "count-without-skipped",
    what: "Refused calls that were left out of the journal are not counted.",
    edits: [{ file: CALLS, find: "skipped + (done IS NULL) AS calls, at", replace: "(done IS NULL) AS calls, at" }],
  },
  {
    name: "nonce-reasons-twice",
    what: "A call that a rule refuses is counted by its nonce and by its row of the journal.",
    edits: [
      {
        file: CALLS,
        find: "reason NOT IN (SELECT value FROM json_each(${JSON.stringify(nonceReasons)}))",
        replace: "reason NOT IN (SELECT value FROM json_each(${JSON.stringify(nonceReasons)}) WHERE key < 1)",
      },
    ],
  },
  {
    name: "done-not-marked",
    what: "A call that was answered 503 and done all the same counts as two.",
    edits: [
      {
        file: CALLS,
        find: "drizzle(db).update(refusals).set({ done: 1 }).where(done)] as const;",
        replace: "drizzle(db).update(refusals).set({ done: 1 }).where(sql`${done} AND 0`)] as const;",
      },
    ],
  },
  {
    name: "counted-too-far",
    what: "Nonces that have not expired yet count as counted.",
    edits: [
      {
        file: "src/store/prune.ts",
        find: "[notePassed(db, since - callRules.nonceSeconds)]",
        replace: "[notePassed(db, since - callRules.nonceSeconds + 60)]",
      },
    ],
  },
  {
    name: "refusals-counted-by-both",
    what: "Two runs at once count the same refused calls.",
    edits: [
      {
        file: CALLS,
        find: "WHERE ${folds.id} = ${FOLD} AND ${folds.refusalsUntil} = ${from})`;",
        replace: "WHERE ${folds.id} = ${FOLD} AND ${folds.refusalsUntil} >= ${from})`;",
      },
      {
        file: FOLDS,
        find: ".where(sql`${folds.id} = ${FOLD} AND ${folds.refusalsUntil} = ${from}`);",
        replace: ".where(sql`${folds.id} = ${FOLD} AND ${folds.refusalsUntil} >= ${from}`);",
      },
    ],
  },
  {
    name: "refusals-without-the-last-second",
    what: "Refused calls of the last second of a step are never counted.",
    edits: [
      {
        file: CALLS,
        find: "${refusals.requestId} < ${firstRequestIdAt(to + 1)}",
        replace: "${refusals.requestId} < ${firstRequestIdAt(to)}",
      },
    ],
  },
  {
    name: "folds-go-back",
    what: "A slower run sets back how far the nonces are counted.",
    edits: [
      {
        file: FOLDS,
        find: "sql`max(coalesce(${folds.noncesUntil}, 0), excluded.nonces_until)`",
        replace: "sql`excluded.nonces_until - 5 * (${folds.noncesUntil} >= excluded.nonces_until)`",
      },
    ],
  },
  {
    name: "late-rows-uncounted",
    what: "A row of the journal that comes late is never counted.",
    edits: [{ file: JOURNAL, find: "...(areOld ? countLate", replace: "...(areOld && rows.length > 1e6 ? countLate" }],
  },
  {
    name: "late-rows-counted-again",
    what: "A row of the journal that comes late and twice is counted twice.",
    edits: [{ file: CALLS, find: "WHERE NOT ${isThere} AND", replace: "WHERE (NOT ${isThere} OR true) AND" }],
  },
  {
    name: "hours-double",
    what: "An hour that becomes part of a day counts twice there.",
    edits: [
      {
        file: FOLD,
        find: "SELECT site_id, appid, operation, outcome, secret, sum(count), max(last_at), hour",
        replace: "SELECT site_id, appid, operation, outcome, secret, sum(count) * 2, max(last_at), hour",
      },
    ],
  },
  {
    name: "events-from-the-last",
    what: "The last event that was counted is counted again.",
    edits: [
      {
        file: EVENTS,
        find: "AND ${events.seq} > ${from} AND ${events.seq} <= ${to}",
        replace: "AND ${events.seq} >= ${from} AND ${events.seq} <= ${to}",
      },
    ],
  },
  {
    name: "events-counted-by-both",
    what: "Two runs at once count the same events.",
    edits: [
      {
        file: EVENTS,
        find: "WHERE ${countedEvents.siteId} = ${siteId}), 0) = ${from}`;",
        replace: "WHERE ${countedEvents.siteId} = ${siteId}), 0) >= ${from}`;",
      },
    ],
  },
  {
    name: "results-counted-on-retry",
    what: "A second try counts the results that the first has recorded.",
    edits: [
      {
        file: RUN,
        find: "[countResults(db, { results }), recordResults(db, { results })]",
        replace: "[recordResults(db, { results }), countResults(db, { results })]",
      },
    ],
  },
  {
    name: "results-without-the-lease",
    what: "A result is counted whoever holds the lease.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "CROSS JOIN ${deliveries} WHERE ${COUNTS} GROUP BY ended",
        replace:
          "CROSS JOIN ${deliveries} WHERE ${deliveries.siteId} = each.value ->> 'siteId' AND ${deliveries.webhookId} = each.value ->> 'webhookId' AND ${deliveries.seq} = each.value ->> 'seq' GROUP BY ended",
      },
    ],
  },
  {
    name: "copy-adds",
    what: "A copy of a site's counters is put beside the one that the directory has.",
    edits: [
      {
        file: DIRECTORY,
        find: "counters: sql`excluded.counters` },",
        replace:
          "counters: sql`substr(excluded.counters, 1, 1) || substr(${siteMetrics.counters}, 2, length(${siteMetrics.counters}) - 2) || ',' || substr(excluded.counters, 2)` },",
      },
    ],
  },
  {
    name: "older-copy-overwrites",
    what: "An older copy that comes late takes the place of a newer one.",
    edits: [
      {
        file: DIRECTORY,
        find: "setWhere: sql`${homeMetrics.copy} < ${copy}`",
        replace: "setWhere: sql`${homeMetrics.copy} <> ${copy}`",
      },
    ],
  },
  {
    name: "copy-leaves-sites-out",
    what: "Sites whose counters have risen since the last copy are left out.",
    edits: [{ file: METRICS, find: "risen.rose_in >= ${v.known})", replace: "risen.rose_in > ${v.known})" }],
  },
  {
    name: "usage-of-all-sites",
    what: "Who reads the usage of a site reads that of the whole home.",
    edits: [{ file: USAGE, find: "eq(apps.siteId, siteId),\n    appid", replace: "undefined,\n    appid" }],
  },
  {
    name: "usage-without-hours",
    what: "Usage by days lacks the days that are still in hours.",
    edits: [
      {
        file: USAGE,
        find: "lte(usage.hour, until + DAY - 1)",
        replace: "lte(usage.hour, since - 1)",
      },
    ],
  },
  {
    name: "metrics-without-end",
    what: "The text of the metrics does not say where it ends.",
    edits: [{ file: TEXT, find: '[...lines, "# EOF"].join', replace: "[...lines].join" }],
  },
  {
    name: "metrics-without-total",
    what: "The samples of counters do not end in _total.",
    edits: [{ file: TEXT, find: 'type === "counter" ? `${name}_total` : name', replace: "name" }],
  },
  {
    name: "metrics-series-twice",
    what: "Counters with the same labels are samples of their own.",
    edits: [{ file: FAMILIES, find: "const key = JSON.stringify(labels);", replace: "const key = `${found.size}`;" }],
  },
];
