import type { Defect } from "./defect.ts";

const DELIVERIES = "src/store/home/deliveries.ts";
const HEALTH = "src/store/home/webhook-health.ts";
const HOME_RUN = "src/webhooks/home-run.ts";
const SWEEP = "src/webhooks/sweep.ts";

/** Of what the queue's consumer and the sweep claim and write down. */
export const DELIVERY_DEFECTS: Defect[] = [
  {
    name: "claims-before-due",
    what: "An attempt begins before it is due, also while another one is under way.",
    edits: [{ file: DELIVERIES, find: " AND ${due.nextAttemptAt} <= ${v.now}", replace: "" }],
  },
  {
    name: "newest-due-first",
    what: "What became due last is attempted first.",
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
    what: "The oldest event is attempted first, however short it has been due.",
    edits: [{ file: DELIVERIES, find: "ORDER BY ${due.nextAttemptAt}, ${due.seq}", replace: "ORDER BY ${due.seq}" }],
  },
  {
    name: "one-webhook-takes-all-places",
    what: "One webhook of a run takes all of its places.",
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
    what: "Any number of attempts are under way to one webhook.",
    edits: [{ file: DELIVERIES, find: " END - in_flight.attempts))", replace: " END))" }],
  },
  {
    name: "as-many-while-it-fails",
    what: "As many attempts are under way to a webhook that fails as to one that is well.",
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
    what: "The attempts under way that a clock ahead of this one has begun are not counted.",
    edits: [
      { file: DELIVERIES, find: "<= ${v.until} + ${sql.raw(String(LEASE_SECONDS))} AND", replace: "<= ${v.until} AND" },
    ],
  },
  {
    name: "attempts-not-counted",
    what: "Claims do not count attempts.",
    edits: [
      { file: DELIVERIES, find: "SET attempts = attempts + 1, next", replace: "SET attempts = attempts + 0, next" },
    ],
  },
  {
    name: "short-leases",
    what: "An attempt that takes long is begun once more.",
    edits: [
      { file: DELIVERIES, find: "export const LEASE_SECONDS = 60;", replace: "export const LEASE_SECONDS = 10;" },
    ],
  },
  {
    name: "failure-without-claim",
    what: "A failure is written down over what others have written since.",
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
    what: "A success is forgotten when its claim is gone meanwhile.",
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
    what: "When the Worker disables a webhook, what is pending for it stays pending.",
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
    what: "The audit log does not say what the Worker disables.",
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
    what: "A webhook may fail for any time.",
    edits: [{ file: HEALTH, find: "known <= failingBefore;", replace: "known < -failingBefore;" }],
  },
  {
    name: "failing-for-fifty-days",
    what: "A webhook that fails is disabled after fifty days.",
    edits: [{ file: HEALTH, find: "export const FAILING_DAYS = 5;", replace: "export const FAILING_DAYS = 50;" }],
  },
  {
    name: "failing-since-the-last",
    what: "failing_since is the last failure.",
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
    what: "A success does not say that its webhook is well again.",
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
    what: "What is due in a closed home is delivered.",
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
    what: "What the queue has lost is never delivered.",
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
    what: "The queue is not told when the next attempt is due.",
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
    what: "Logs hold what receivers answer.",
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
