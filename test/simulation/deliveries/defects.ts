import type { Defect } from "../defect.ts";

/** Defects of leases, attempts, results, shares, the health of webhooks and what is told of it. */
export const DELIVERY_DEFECTS: Defect[] = [
  {
    name: "newest-due-first",
    what: "The delivery that became due last is attempted first.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "ORDER BY ${due.nextAttemptAt}, ${due.seq}",
        replace: "ORDER BY ${due.nextAttemptAt} DESC, ${due.seq}",
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
    name: "short-leases",
    what: "The lease of a slow attempt ends too early, so the attempt is begun again.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "export const LEASE_SECONDS = 60;",
        replace: "export const LEASE_SECONDS = 10;",
      },
    ],
  },
  {
    name: "failure-without-claim",
    what: "A failure is recorded over results that others have recorded since.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "each.value ->> 'status' = 'delivered' AND ${deliveries.status} <> 'delivered'",
        replace: "true",
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
    name: "no-sweep",
    what: "A delivery whose message the queue lost is never sent.",
    edits: [
      {
        file: "src/webhooks/sweep.ts",
        find: "await notifyQueue(tools, notices);",
        replace: "await notifyQueue(tools, notices.slice(0, 0));",
      },
    ],
  },
  {
    name: "retries-left-to-the-sweep",
    what: "The queue is not notified of the next attempt.",
    edits: [
      {
        file: "src/webhooks/home-run.ts",
        find: "!(target.retries || wait",
        replace: "!((target.retries && false) || wait",
      },
    ],
  },
  {
    name: "gone-leaves-the-rest",
    what: "When the Worker disables a webhook, its pending deliveries stay pending.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "    db.prepare(ending.sql).bind(...ending.params),\n",
        replace: "    ...(ending && []),\n",
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
    name: "nine-attempts",
    what: "A delivery is tried once more than documented.",
    edits: [{ file: "src/webhooks/schedule.ts", find: "36_000, 43_200];", replace: "36_000, 43_200, 60];" }],
  },
  {
    name: "redelivers-what-is-under-way",
    what: "Redelivering takes the lease from an attempt in flight.",
    edits: [
      {
        file: "src/store/home/redeliveries.ts",
        find: "CASE WHEN ${inFlight} THEN deliveries",
        replace: "CASE WHEN 0 AND ${inFlight} THEN deliveries",
      },
    ],
  },
  {
    name: "one-site-takes-all-places",
    what: "A site gets all places of a run while another waits.",
    edits: [{ file: "src/webhooks/budget.ts", find: "const SITE_PART = 1 / 2;", replace: "const SITE_PART = 1;" }],
  },
  {
    name: "last-attempt-buries-the-redelivery",
    what: "The failure of a last attempt ends a delivery that was sent again meanwhile.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "UPDATE ${deliveries} SET status = CASE WHEN ${SENT_AGAIN} THEN 'pending' ELSE each.value ->> 'status' END,",
        replace: "UPDATE ${deliveries} SET status = each.value ->> 'status',",
      },
    ],
  },
  {
    name: "old-url-judges-the-new-one",
    what: "The answer of a webhook's old URL counts for its new one.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "${webhooks.id} = ${v.webhookId} AND ${webhooks.url} = ${v.url}`;",
        replace: "${webhooks.id} = ${v.webhookId}`;",
      },
    ],
  },
  {
    name: "disabling-leaves-the-revision",
    what: "A change that was read before the Worker disabled the webhook enables it again.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "disabled_at = ${v.now}, revision = revision + 1,",
        replace: "disabled_at = ${v.now},",
      },
    ],
  },
  {
    name: "events-off-hands-out-the-newest-event",
    what: "A call of a site without events delivers the newest old event.",
    edits: [
      {
        file: "src/store/home/outbox.ts",
        find: " WHERE newest.site_id = ${v.siteId}) AND ${events.id} = ${v.eventId}",
        replace: " WHERE newest.site_id = ${v.siteId})",
      },
    ],
  },
  {
    name: "late-success-needs-its-lease",
    what: "A success counts only while its attempt has the lease.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "  AND (${deliveries.lease} = each.value ->> 'lease'\n    OR (each.value ->> 'status' = 'delivered' AND ${deliveries.status} <> 'delivered'))`;",
        replace: "  AND ${deliveries.lease} = each.value ->> 'lease'`;",
      },
    ],
  },
  {
    name: "url-changes-nothing-in-flight",
    what: "The failure of an attempt at a webhook's old URL takes one of the eight of its new one.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "? [renewInFlight(db, key, author.now, unchanged), makeDueWhere",
        replace: "? [renewInFlight(db, key, 0 * author.now, unchanged), makeDueWhere",
      },
    ],
  },
  {
    name: "enabled-while-it-ends",
    what: "A webhook is enabled while deliveries from before are still pending.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "isEnabling ? notExists(pending) : undefined,",
        replace: "isEnabling && 0 ? notExists(pending) : undefined,",
      },
    ],
  },
  {
    name: "sent-again-by-each-try",
    what: "A second try of a call sends the same events once more.",
    edits: [
      {
        file: "src/store/home/redeliveries.ts",
        find: "${auditRow(v)} IS NULL",
        replace: "(${auditRow(v)} IS NULL OR 1)",
      },
    ],
  },
];
