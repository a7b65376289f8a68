import { type Defect, LONGER } from "./defect.ts";

/** Defects of operators' changes of webhooks. */
export const WEBHOOK_DEFECTS: Defect[] = [
  {
    name: "webhook-late-try",
    what: "A late try of a PATCH of a webhook undoes a later one.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "eq(webhooks.revision, before.revision),\n      isEnabling ? notExists(pending) : undefined,",
        replace:
          "sql`${webhooks.revision} + 0 * ${before.revision} >= 0`,\n      isEnabling ? notExists(pending) : undefined,",
      },
    ],
  },
  {
    name: "disabling-without-revision",
    what: "A late try of an operator enables a webhook that the Worker has disabled.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "disabled_at = ${v.now}, revision = revision + 1,",
        replace: "disabled_at = ${v.now},",
      },
    ],
  },
  {
    name: "webhook-moved-enabled",
    what: "A disabled webhook that gets another URL is enabled.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "wanted.status ?? before.status,",
        replace: `wanted.status ?? (wanted.url === undefined ? before.status : "enabled"),`,
      },
    ],
  },
  {
    name: "webhook-types-enabled",
    what: "A disabled webhook that gets other types is enabled.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "wanted.status ?? before.status,",
        replace: `wanted.status ?? (wanted.events === undefined ? before.status : "enabled"),`,
      },
    ],
  },
  {
    name: "webhook-changed-without-reason",
    steps: LONGER,
    what: "A webhook that the Worker has disabled loses the reason when it gets another URL.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "...(isSwitched && { disabledAt: isEnabling ? null : author.now, disabledReason: null }),",
        replace:
          '...((isSwitched || isMoved) && { disabledAt: status === "enabled" ? null : isSwitched ? author.now : before.disabledAt, disabledReason: null }),',
      },
    ],
  },
  {
    name: "webhook-late-change",
    what: "A change of a webhook that D1 applies late undoes one that was answered since.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "eq(webhooks.revision, before.revision),\n      isEnabling ? notExists(pending) : undefined,",
        replace:
          "sql`${webhooks.revision} + 0 * ${before.revision} >= 0`,\n      isEnabling ? notExists(pending) : undefined,",
      },
      {
        file: "src/store/home/webhooks.ts",
        find: "const isChanged = or(ne(webhooks.url, url), ne(webhooks.events, events));",
        replace:
          "const isChanged = or(wanted.url === undefined ? undefined : ne(webhooks.url, url), wanted.events === undefined ? sql`0` : ne(webhooks.events, events));",
      },
      {
        file: "src/store/home/webhooks.ts",
        find: "and(unchanged, ne(webhooks.status, status))",
        replace: "and(unchanged, sql`${webhooks.status} <> ${wanted.status ?? null}`)",
      },
      {
        file: "src/store/home/webhooks.ts",
        find: "url,\n          events,\n          status,\n          revision: before.revision + 1,",
        replace: "...{ ...wanted, revision: sql`${webhooks.revision} + 1` },",
      },
    ],
  },
  {
    name: "webhook-rotate-ignores-expected-version",
    what: "A rotation of a webhook that is repeated rotates again.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: "  requireVersion(stored, input);",
        replace: `  if ("appid" in owner) requireVersion(stored, input);`,
      },
    ],
  },
  {
    name: "webhook-rotate-forgets-its-own",
    steps: LONGER,
    what: "A rotation of a webhook whose answer D1 lost does not know its own secret.",
    edits: [
      {
        file: "src/services/webhook-secrets.ts",
        find: "if (mine !== undefined && webhook.version === mine.change.version)",
        replace: `if (mine !== undefined && webhook.version === "")`,
      },
    ],
  },
  {
    name: "webhook-rotate-lost-update",
    what: "Of two rotations of a webhook at the same time, the secret of one is lost.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: ".where(and(isWebhook(before), hasSecretsOf(webhooks, before)))",
        replace: ".where(isWebhook(before))",
      },
    ],
  },
  {
    name: "webhook-end-overlap-of-newer",
    steps: LONGER,
    what: "A late try to end a webhook's overlap ends that of a newer rotation.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "const unchanged = and(isWebhook(before), hasSecretsOf(webhooks, before));",
        replace: "const unchanged = and(isWebhook(before), sql`${previousVersion} IS NOT NULL`);",
      },
    ],
  },
  {
    name: "webhook-end-overlap-ignores-expected-version",
    what: "The end of a webhook's overlap ignores the version that is expected.",
    edits: [
      {
        file: "src/services/webhook-secrets.ts",
        find: "requireVersion(webhook, input);",
        replace: "",
      },
    ],
  },
  {
    name: "webhook-end-overlap-without-audit",
    what: "The end of a webhook's overlap leaves no row in the audit log.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "auditOf(db, author, audited, webhooks, unchanged),",
        replace: "auditOf(db, author, audited, webhooks, sql`0`),",
      },
    ],
  },
  {
    name: "webhook-end-overlap-audited-twice",
    what: "The end of a webhook's overlap that has ended leaves one more row in the audit log.",
    edits: [
      {
        file: "src/services/webhook-secrets.ts",
        find: "if (webhook.previousVersion === null) return { version };",
        replace: "",
      },
    ],
  },
  {
    name: "webhook-without-version",
    what: "The list of webhooks does not show the versions of secrets that are in place.",
    edits: [
      {
        file: "src/http/admin/webhooks.ts",
        find: "version: each.version,",
        replace: "version: each.id,",
      },
    ],
  },
  {
    name: "url-changes-nothing-in-flight",
    what: "An attempt in flight to a webhook's old URL counts against its new one.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "? [renewInFlight(db, key, author.now, unchanged), makeDueWhere",
        replace: "? [makeDueWhere",
      },
      {
        file: "src/store/home/webhooks.ts",
        find: "function renewInFlight(",
        replace: "export function renewInFlight(",
      },
    ],
  },
  {
    name: "url-leaves-the-old-times",
    what: "What is pending keeps its time when the URL changes.",
    edits: [
      { file: "src/store/home/webhooks.ts", find: ", makeDueWhere(db, key, author.now, unchanged)]", replace: "]" },
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
    name: "disabling-keeps-no-time",
    what: "A webhook that an operator disables does not say when.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "disabledAt: isEnabling ? null : author.now,",
        replace: "disabledAt: isEnabling ? null : before.disabledAt,",
      },
    ],
  },
  {
    name: "sent-again-by-each-try",
    steps: LONGER,
    what: "A second try of a call sends the same events once more.",
    edits: [
      {
        file: "src/store/home/redeliveries.ts",
        find: "${auditRow(v)} IS NULL",
        replace: "(${auditRow(v)} IS NULL OR 1)",
      },
    ],
  },
  {
    name: "sent-again-without-bounds",
    what: "Events before `since` are sent again too.",
    edits: [
      {
        file: "src/store/home/redeliveries.ts",
        find: "AND ${events.createdAt} >= ${v.from} AND",
        replace: "AND ${events.createdAt} >= 0 * ${v.from} AND",
      },
    ],
  },
  {
    name: "sent-again-with-pings",
    what: "Pings are sent again with the events.",
    edits: [
      {
        file: "src/store/home/redeliveries.ts",
        find: "${events.data} IS NOT NULL AND ${events.type} <> ${",
        replace: "${events.data} IS NOT NULL AND '' <> ${",
      },
    ],
  },
  {
    name: "sent-again-when-erased",
    steps: LONGER,
    what: "Erased events are sent again with the others.",
    edits: [
      {
        file: "src/store/home/redeliveries.ts",
        find: "SELECT step.seq, step.at, ${events.data} IS NOT NULL AND",
        replace: "SELECT step.seq, step.at,",
      },
    ],
  },
  {
    name: "missed-of-all-types",
    what: "A webhook is sent events of types that it does not want, as missed.",
    edits: [
      {
        file: "src/store/home/redeliveries.ts",
        find: "(step.status <> 'missed' OR ${events.type} IN (",
        replace: "(1 OR ${events.type} IN (",
      },
    ],
  },
  {
    name: "steps-leave-out-an-event",
    what: "The next step of sending again begins one event too late.",
    edits: [{ file: "src/store/home/redeliveries.ts", find: "THEN max(seq) END`", replace: "THEN max(seq) + 1 END`" }],
  },
  {
    name: "dry-runs-send",
    what: "A dry run sends the events again.",
    edits: [
      {
        file: "src/store/home/redeliveries.ts",
        find: "...(isDry\n        ? []",
        replace: "...(isDry && step.from < 0\n        ? []",
      },
    ],
  },
  {
    name: "sent-again-with-old-attempts",
    what: "What is sent again keeps the number of its attempts.",
    edits: [
      {
        file: "src/store/home/redeliveries.ts",
        find: "DO UPDATE SET status = 'pending', attempts = 0,",
        replace: "DO UPDATE SET status = 'pending', attempts = deliveries.attempts,",
      },
    ],
  },
  {
    name: "sent-again-is-not-audited",
    what: "The audit log does not say how many events were sent again.",
    edits: [
      {
        file: "src/store/home/redeliveries.ts",
        find: "'$.queued', ${MATCHED},",
        replace: "'$.queued', ${MATCHED} + 1,",
      },
    ],
  },
  {
    name: "skipped-are-in-no-list",
    steps: LONGER,
    what: "Deliveries whose event is gone are in no list.",
    edits: [
      {
        file: "src/store/home/events.ts",
        find: ".leftJoin(events, itsEvent)\n    .where(and(isDeliveryOf(key), inArray(seq, page)))",
        replace: ".innerJoin(events, itsEvent)\n    .where(and(isDeliveryOf(key), inArray(seq, page)))",
      },
    ],
  },
  {
    name: "pending-are-miscounted",
    what: "A webhook says that as many deliveries are pending as have failed.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "pending: sql<number>`(SELECT count(*) FROM ${PENDING})`",
        replace: "pending: sql<number>`(SELECT count(*) FROM ${FAILED})`",
      },
    ],
  },
  {
    name: "sent-again-left-to-the-sweep",
    what: "The queue is not notified of what is sent again.",
    edits: [
      {
        file: "src/services/events.ts",
        find: "  if (queued > 0) notifyQueueOf",
        replace: "  if (queued > 1e9) notifyQueueOf",
      },
    ],
  },
];
