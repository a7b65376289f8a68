import { type Defect, LONGER } from "./defect.ts";

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
        find: "part(this.#places - keptForFailing, 1 / (all.length - failing.length))",
        replace: "part(this.#places - 0 * keptForFailing, 1)",
      },
    ],
  },
  {
    name: "claims-without-cap",
    what: "Any number of attempts are in flight to one webhook.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "ELSE ${number(MOST_IN_FLIGHT)} END - attempts)",
        replace: "ELSE ${number(MOST_IN_FLIGHT)} END)",
      },
    ],
  },
  {
    name: "as-many-while-it-fails",
    what: "As many attempts are in flight to a failing webhook as to a healthy one.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "THEN ${number(MOST_IN_FLIGHT_FAILING)} -",
        replace: "THEN ${number(MOST_IN_FLIGHT + 0 * MOST_IN_FLIGHT_FAILING)} -",
      },
    ],
  },
  {
    name: "cap-forgets-clocks-ahead",
    what: "Attempts in flight are not counted when they were begun by an isolate whose clock is ahead.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "<= ${v.until} + ${number(LEASE_SECONDS)} AND",
        replace: "<= ${v.until} AND",
      },
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
        file: "src/store/home/webhook-health.ts",
        find: "    auditDisabling(db, { siteId, webhookId, now, details }),\n",
        replace: '    db.prepare("UPDATE jobs SET place = place WHERE changes() > ?").bind(0 * details.length - 1),\n',
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
        file: "src/store/home/webhook-health.ts",
        find: "coalesce(failing_since, ${v.now})",
        replace: "coalesce(${v.now}, failing_since)",
      },
    ],
  },
  {
    name: "fails-for-ever",
    what: "A success does not reset failing_since.",
    edits: [
      {
        file: "src/webhooks/health-of.ts",
        find: "failedAt: succeeded ? null : now",
        replace: "failedAt: succeeded && 0 ? null : now",
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
        find: "AND ${deliveries.nextAttemptAt} <= ${v.dueBefore}), 0) AS isDue",
        replace: "AND ${deliveries.nextAttemptAt} <= ${v.dueBefore} AND ${deliveries.lease} IS NULL), 0) AS isDue",
      },
    ],
  },
  {
    name: "retries-left-to-the-sweep",
    what: "The queue is not notified of the next attempt.",
    edits: [
      {
        file: HOME_RUN,
        find: "!(target.retries || wait",
        replace: "!((target.retries && false) || wait",
      },
    ],
  },
  {
    name: "logs-tell-errors",
    what: "Logs contain receivers' answers.",
    edits: [
      {
        file: HOME_RUN,
        find: "      this.#count(result.status);\n",
        replace:
          "      this.#count(result.status);\n      if (result.lastError !== null) this.#tools.telemetry.warn({ warning: result.lastError });\n",
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
  {
    name: "quiet-webhooks-disabled",
    what: "A webhook that was quiet for five days after a failure is disabled by its next failure.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "<= ${v.failingBefore} AND (\n",
        replace: "<= ${v.failingBefore} AND (true OR\n",
      },
    ],
  },
  {
    name: "used-up-is-no-reason",
    what: "A webhook that fails for five days stays enabled, though a delivery has used up its attempts.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "WHERE ${ended.status} = 'failed')",
        replace: "WHERE ${ended.status} = 'lost')",
      },
    ],
  },
  {
    name: "stuck-is-no-reason",
    steps: LONGER,
    what: "A webhook that fails for five days stays enabled, though a delivery has been due for a day.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "AND ${late.nextAttemptAt} <= ${v.dueBefore}",
        replace: "AND ${late.nextAttemptAt} <= 0 * ${v.dueBefore}",
      },
    ],
  },
  {
    name: "pings-judge",
    what: "A failed ping counts as a failure of its webhook.",
    edits: [
      {
        file: "src/webhooks/health-of.ts",
        find: "posted && held.type !== PING",
        replace: "posted && held.type !== `${PING}?`",
      },
    ],
  },
  {
    name: "pings-are-retried",
    what: "A ping that fails is tried eight times.",
    edits: [{ file: "src/webhooks/attempt.ts", find: "if (type === PING)", replace: "if (type === `${PING}?`)" }],
  },
  {
    name: "pings-wait",
    what: "A ping waits behind everything that was due before.",
    edits: [
      {
        file: "src/store/home/events.ts",
        find: "nextAttemptAt: sql`${FIRST_IN_LINE}`.as",
        replace: "nextAttemptAt: sql`${now + FIRST_IN_LINE}`.as",
      },
    ],
  },
  {
    name: "pings-need-a-place",
    steps: LONGER,
    what: "A ping waits until fewer attempts are in flight.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "(SELECT count(*) FROM longest WHERE at = ${number(FIRST_IN_LINE)})",
        replace: "(SELECT count(*) FROM longest WHERE at < ${number(FIRST_IN_LINE)})",
      },
    ],
  },
  {
    name: "old-urls-judge",
    steps: LONGER,
    what: "The answer of a webhook's old URL counts for its new one.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "${webhooks.id} = ${v.webhookId} AND ${webhooks.url} = ${v.url}`",
        replace: "${webhooks.id} = ${v.webhookId} AND ${v.url} <> ''`",
      },
    ],
  },
  {
    name: "cause-is-lost",
    what: "The deliveries that end with a webhook forget why they failed before.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: 'coalesce(${deliveries.lastError}, ${"the webhook is disabled"})',
        replace: 'coalesce(${"the webhook is disabled"}, ${deliveries.lastError})',
      },
    ],
  },
  {
    name: "webhook-forgets-its-error",
    what: "A webhook does not say how its last event failed.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "sql`last_status = ${v.lastStatus},",
        replace: "sql`last_status = nullif(${v.lastStatus}, 500),",
      },
    ],
  },
  {
    name: "disabled-without-time",
    what: "A webhook that the Worker disables does not say when.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "disabled_at = ${v.now},",
        replace: "disabled_at = ${v.now} * NULL,",
      },
    ],
  },
  {
    name: "attempts-without-time",
    what: "A delivery does not say when its last attempt began.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "last_attempt_at = ${v.now}, duration_ms = NULL",
        replace: "last_attempt_at = coalesce(last_attempt_at, ${v.now}), duration_ms = NULL",
      },
    ],
  },
  {
    name: "attempts-without-duration",
    what: "A delivery does not say how long its last attempt took.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "duration_ms = each.value ->> 'durationMs'",
        replace: "duration_ms = each.value ->> 'duration'",
      },
    ],
  },
  {
    name: "wakes-lost-behind-a-batch",
    steps: LONGER,
    what: "A webhook whose attempt ends while another batch is in D1 is left without a notice of its retry.",
    edits: [
      {
        file: "src/webhooks/home-run.ts",
        find: "if (target.inFlight === 0 && target.unrecorded === 0 &&",
        replace: "if (target.inFlight === 0 && target.unrecorded >= 0 &&",
      },
    ],
  },
  {
    name: "sites-take-all-places",
    steps: LONGER,
    what: "One site takes all places of a run while another site waits.",
    edits: [
      {
        file: "src/webhooks/budget.ts",
        find: "return part(this.#places, SITE_PART) - taken;",
        replace: "return part(this.#places, 2 * SITE_PART) - taken;",
      },
    ],
  },
  {
    name: "failing-take-all-places",
    what: "Failing webhooks take all places of a run.",
    edits: [
      { file: "src/webhooks/budget.ts", find: "const FAILING_PART = 1 / 3;", replace: "const FAILING_PART = 1;" },
    ],
  },
  {
    name: "unknown-take-all-places",
    what: "Webhooks that are not known to fail take all places of a run, also when they fail.",
    edits: [
      {
        file: "src/webhooks/budget.ts",
        find: "else freeForOthers -= whenFailing;",
        replace: "",
      },
    ],
  },
  {
    name: "no-place-for-new-events",
    steps: LONGER,
    what: "New events of a failing webhook wait behind all retries.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "failing AND new = 0 THEN ${NEWEST}",
        replace: "failing AND new < 0 THEN ${NEWEST}",
      },
    ],
  },
  {
    name: "no-place-kept-for-new-events",
    steps: LONGER,
    what: "Retries take all places of a failing webhook while no new event is due.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: " - (new = 0 AND NOT EXISTS (SELECT 1 FROM never_tried))",
        replace: "",
      },
    ],
  },
  {
    name: "sent-again-in-flight-is-lost",
    steps: LONGER,
    what: "An event that is sent again while its last attempt is in flight is not tried anew.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "const SENT_AGAIN = sql`(${deliveries.attempts} <",
        replace: "const SENT_AGAIN = sql`(0 AND ${deliveries.attempts} <",
      },
    ],
  },
  {
    name: "disabling-tells-nobody",
    what: "The site's other webhooks are not told of one that the Worker disables.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "    ...tellOthers(db, { type: WEBHOOK_DISABLED, siteId, webhookId, reason, eventId, now }),\n",
        replace:
          '    ...(eventId === "" ? tellOthers(db, { type: WEBHOOK_DISABLED, siteId, webhookId, reason, eventId, now }) : []),\n',
      },
    ],
  },
  {
    name: "disabling-tells-itself",
    what: "A webhook may get the event that another one was disabled though it does not want it.",
    edits: [
      {
        file: "src/store/home/webhook-events.ts",
        find: "wanted WHERE wanted.value = ${v.type}) AND changes() > 0",
        replace: "wanted WHERE wanted.value <> ${v.type}) AND changes() > 0",
      },
    ],
  },
  {
    name: "failing-is-told-each-minute",
    what: "The sweep tells of a failing webhook again and again.",
    edits: [
      {
        file: "src/store/home/webhook-events.ts",
        find: "AND ${webhooks.failingToldAt} IS NULL",
        replace: "AND coalesce(${webhooks.failingToldAt}, 0) < ${now}",
      },
    ],
  },
  {
    name: "failing-is-never-told",
    what: "Nobody is told of a webhook that fails.",
    edits: [
      {
        file: "src/store/home/webhook-events.ts",
        find: "const TOLD_AFTER_SECONDS = 300;",
        replace: "const TOLD_AFTER_SECONDS = 300_000_000;",
      },
    ],
  },
  {
    name: "failing-is-told-at-once",
    what: "Others are told of a webhook at its first failure.",
    edits: [
      {
        file: "src/store/home/webhook-events.ts",
        find: "const TOLD_AFTER_SECONDS = 300;",
        replace: "const TOLD_AFTER_SECONDS = 3;",
      },
    ],
  },
  {
    name: "told-though-events-are-off",
    steps: LONGER,
    what: "A site whose events are off is told of its webhooks.",
    edits: [
      {
        file: "src/store/home/webhook-events.ts",
        find: "nextEvent(v.siteId, sql`${homeSites.events}`)",
        replace: "nextEvent(v.siteId, sql`(${homeSites.events} OR 1)`)",
      },
    ],
  },
  {
    name: "told-what-was-answered",
    what: "The event of a disabled webhook holds the receiver's words.",
    edits: [
      {
        file: "src/store/home/webhook-events.ts",
        find: "last_status: webhooks.lastStatus,",
        replace:
          "last_status: sql`(SELECT d.last_error FROM deliveries AS d WHERE d.webhook_id = webhooks.id AND d.seq = webhooks.last_seq)`,",
      },
    ],
  },
];
