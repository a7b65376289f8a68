import type { Defect } from "./defect.ts";

const DELIVERIES = "src/store/home/deliveries.ts";
const HEALTH = "src/store/home/webhook-health.ts";
const HOME_RUN = "src/webhooks/home-run.ts";
const SWEEP = "src/webhooks/sweep.ts";

/** Defects of the queue's consumer and the sweep: their leases and recorded results. */
export const DELIVERY_DEFECTS: Defect[] = [
  {
    name: "claims-before-due",
    what: "An attempt begins before it is due, also while another one is in flight.",
    edits: [{ file: DELIVERIES, find: " AND ${due.nextAttemptAt} <= ${v.now}", replace: "" }],
  },
  {
    name: "newest-due-first",
    what: "The delivery that became due last is attempted first.",
    edits: [
      {
        file: DELIVERIES,
        find: "ORDER BY ${due.nextAttemptAt}, ${due.seq}",
        replace: "ORDER BY ${due.nextAttemptAt} DESC, ${due.seq}",
      },
    ],
  },
  {
    name: "oldest-event-first",
    what: "The oldest event is attempted first, even if others have been due for longer.",
    edits: [{ file: DELIVERIES, find: "ORDER BY ${due.nextAttemptAt}, ${due.seq}", replace: "ORDER BY ${due.seq}" }],
  },
  {
    name: "one-webhook-takes-all-places",
    what: "One webhook takes all places of a run.",
    edits: [
      {
        file: "src/webhooks/budget.ts",
        find: "Math.max(1, Math.floor(this.#places / this.#webhooks))",
        replace: "Math.max(1, Math.floor(this.#places / (this.#webhooks * 0 + 1)))",
      },
    ],
  },
  {
    name: "claims-without-cap",
    what: "Any number of attempts are in flight to one webhook.",
    edits: [{ file: DELIVERIES, find: " END - in_flight.attempts))", replace: " END))" }],
  },
  {
    name: "as-many-while-it-fails",
    what: "As many attempts are in flight to a failing webhook as to a healthy one.",
    edits: [
      {
        file: DELIVERIES,
        find: "ELSE ${sql.raw(String(MOST_IN_FLIGHT_FAILING))} END",
        replace: "ELSE ${sql.raw(String(MOST_IN_FLIGHT + 0 * MOST_IN_FLIGHT_FAILING))} END",
      },
    ],
  },
  {
    name: "cap-forgets-clocks-ahead",
    what: "Attempts in flight are not counted when they were begun by an isolate whose clock is ahead.",
    edits: [
      { file: DELIVERIES, find: "<= ${v.until} + ${sql.raw(String(LEASE_SECONDS))} AND", replace: "<= ${v.until} AND" },
    ],
  },
  {
    name: "attempts-not-counted",
    what: "Leases do not count attempts.",
    edits: [
      { file: DELIVERIES, find: "SET attempts = attempts + 1, next", replace: "SET attempts = attempts + 0, next" },
    ],
  },
  {
    name: "short-leases",
    what: "The lease of a slow attempt ends too early, so the attempt is begun again.",
    edits: [
      { file: DELIVERIES, find: "export const LEASE_SECONDS = 60;", replace: "export const LEASE_SECONDS = 10;" },
    ],
  },
  {
    name: "failure-without-claim",
    what: "A failure is recorded over results that others have recorded since.",
    edits: [
      {
        file: DELIVERIES,
        find: "each.value ->> 'status' = 'delivered' AND ${deliveries.status} <> 'delivered'",
        replace: "true",
      },
    ],
  },
  {
    name: "success-needs-its-claim",
    what: "A success is not recorded when its lease has ended meanwhile.",
    edits: [
      {
        file: DELIVERIES,
        find: "each.value ->> 'status' = 'delivered' AND ${deliveries.status} <> 'delivered'",
        replace: "false",
      },
    ],
  },
  {
    name: "gone-leaves-the-rest",
    what: "When the Worker disables a webhook, its pending deliveries stay pending.",
    edits: [
      {
        file: HEALTH,
        find: "    db.prepare(ending.sql).bind(...ending.params),\n",
        replace: "    ...(ending && []),\n",
      },
    ],
  },
  {
    name: "gone-without-audit",
    what: "The audit log has no row for a webhook that the Worker disables.",
    edits: [
      {
        file: HEALTH,
        find: "    auditDisabling(db, { ...disabling, details }),\n",
        replace: "    ...(details && []),\n",
      },
    ],
  },
  {
    name: "failing-for-a-day",
    what: "A webhook that fails for a day is disabled.",
    edits: [{ file: HEALTH, find: "export const FAILING_DAYS = 5;", replace: "export const FAILING_DAYS = 1;" }],
  },
  {
    name: "failing-is-never-over",
    what: "A failing webhook is never disabled.",
    edits: [{ file: HEALTH, find: "known <= failingBefore;", replace: "known < -failingBefore;" }],
  },
  {
    name: "failing-for-fifty-days",
    what: "A webhook that fails is disabled after fifty days.",
    edits: [{ file: HEALTH, find: "export const FAILING_DAYS = 5;", replace: "export const FAILING_DAYS = 50;" }],
  },
  {
    name: "failing-since-the-last",
    what: "failing_since is the time of the last failure.",
    edits: [
      {
        file: HEALTH,
        find: "(${webhooks.failingSince} IS NULL) <> (${v.failingSince} IS NULL)",
        replace: "${webhooks.failingSince} IS NOT ${v.failingSince}",
      },
    ],
  },
  {
    name: "fails-for-ever",
    what: "A success does not reset failing_since.",
    edits: [
      {
        file: "src/webhooks/health-of.ts",
        find: "failingSince: succeeded ? null : now",
        replace: "failingSince: succeeded && 0 ? null : now",
      },
    ],
  },
  {
    name: "closed-homes-deliver",
    what: "Due deliveries of a closed home are sent.",
    edits: [
      {
        file: "src/webhooks/deliver.ts",
        find: "config.closedHomes.has(home) ? undefined : config.homes.get(home)",
        replace: "config.homes.get(home)",
      },
    ],
  },
  {
    name: "no-sweep",
    what: "A delivery whose message the queue lost is never sent.",
    edits: [
      {
        file: SWEEP,
        find: "await notifyQueue(tools, notices);",
        replace: "await notifyQueue(tools, notices.slice(0, 0));",
      },
    ],
  },
  {
    name: "sweep-forgets-leases",
    what: "The sweep does not see an attempt that was lost.",
    edits: [
      {
        file: "src/store/home/waiting-webhooks.ts",
        find: "AND ${deliveries.nextAttemptAt} <= ${v.dueBefore}))",
        replace: "AND ${deliveries.nextAttemptAt} <= ${v.dueBefore} AND ${deliveries.lease} IS NULL))",
      },
    ],
  },
  {
    name: "retries-left-to-the-sweep",
    what: "The queue is not notified of the next attempt.",
    edits: [
      {
        file: HOME_RUN,
        find: "(nextDue <= now ? isStopped : target.retries)",
        replace: "(nextDue <= now ? isStopped : target.retries && false)",
      },
    ],
  },
  {
    name: "logs-tell-errors",
    what: "Logs contain receivers' answers.",
    edits: [
      {
        file: HOME_RUN,
        find: "for (const { result } of ended) this.#count(result.status);",
        replace:
          "for (const { result } of ended) { this.#count(result.status); if (result.lastError !== null) this.#tools.telemetry.warn({ warning: result.lastError }); }",
      },
    ],
  },
  {
    name: "too-many-connections",
    what: "A run of the consumer opens more connections than production has.",
    edits: [{ file: "src/webhooks/budget.ts", find: "const AT_ONCE = 6;", replace: "const AT_ONCE = 30;" }],
  },
  {
    name: "receivers-hold-the-queue-up",
    what: "The consumer returns when all receivers have answered.",
    edits: [
      {
        file: "src/webhooks/deliver.ts",
        find: "runs.map(({ run }) => run.begin())",
        replace: "runs.map(({ run }) => run.begin().then(() => run.finish()))",
      },
    ],
  },
];
