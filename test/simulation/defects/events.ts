import { type Defect, LONGER } from "./defect.ts";

const CLAIM = "src/store/home/claim.ts";
const OUTBOX = "src/store/home/outbox.ts";
const PRUNE_EVENTS = "src/store/prune-events.ts";
const WEBHOOKS = "src/store/home/webhooks.ts";

const gateOfEvents = (gate: string) => ({
  file: CLAIM,
  find: "FROM ${nonces} ${join ?? sql``} WHERE ${accepted(v)} ${where === undefined ? sql`` : sql`AND (${where})`}\n      ON CONFLICT",
  replace: `FROM \${nonces} \${join ?? sql\`\`} WHERE \${getTableName(table) === "events" ? ${gate} : accepted(v)} \${where === undefined ? sql\`\` : sql\`AND (\${where})\`}\n      ON CONFLICT`,
});

/** Defects of the events that a call leaves, and of operators' changes of webhooks. */
export const EVENT_DEFECTS: Defect[] = [
  {
    name: "second-try-tells-again",
    what: "The Worker's own second try writes another event of the same call.",
    edits: [gateOfEvents("mine(v)")],
  },
  {
    name: "refused-calls-are-told",
    what: "A refused call leaves an event.",
    edits: [gateOfEvents("sql`${sameNonce(v)} AND ${nonces.owner} = ${v.owner} AND ${nonces.attempt} = ${v.attempt}`")],
  },
  {
    name: "seq-by-counting",
    what: "The seq of the next event is the number of stored events.",
    edits: [
      {
        file: OUTBOX,
        find: "(SELECT max(${events.seq}) FROM ${events} WHERE ${events.siteId} = ${siteId})",
        replace: "(SELECT count(*) FROM ${events} WHERE ${events.siteId} = ${siteId})",
      },
    ],
  },
  {
    name: "events-of-silent-sites",
    what: "A site whose events are off leaves events.",
    edits: [
      {
        file: OUTBOX,
        find: "nextEvent(v.siteId, sql`${homeSites.events}`)",
        replace: "nextEvent(v.siteId, sql`true`)",
      },
    ],
  },
  {
    name: "agents-told-after-they-joined",
    what: "The event of added agents is read when those who join look like those who joined before.",
    edits: [
      {
        file: "src/operations/add-agents.ts",
        find: "    // After the writes, agents who join by this call could not be told from earlier participants.\n    beforeWrites: true,\n",
        replace: "",
      },
    ],
  },
  {
    name: "agents-told-who-did-not-join",
    what: "The event of added agents names agents that were left out.",
    edits: [
      {
        file: "src/operations/add-agents.ts",
        find: "        WHERE ${mayJoin(v)} ORDER BY id))`,",
        replace: "        WHERE 1 ORDER BY id))`,",
      },
    ],
  },
  {
    name: "participants-out-of-order",
    what: "The event of a new session has its participants in another order than the admin API.",
    edits: [
      {
        file: "src/operations/create-session.ts",
        find: "AND ${participants.sessionId} = ${sessions.id} ORDER BY agent_id))`",
        replace: "AND ${participants.sessionId} = ${sessions.id} ORDER BY agent_id DESC))`",
      },
    ],
  },
  {
    name: "events-to-disabled-webhooks",
    what: "A disabled webhook gets deliveries.",
    edits: [{ file: OUTBOX, find: " AND ${webhooks.status} = 'enabled'", replace: "" }],
  },
  {
    name: "events-of-all-types",
    what: "A webhook gets events that it did not choose.",
    edits: [
      {
        file: OUTBOX,
        find: "\n          AND EXISTS (SELECT 1 FROM json_each(${webhooks.events}) AS wanted WHERE wanted.value = ${events.type})`",
        replace: "`",
      },
    ],
  },
  {
    name: "queue-not-told",
    what: "A call does not notify the queue of due deliveries, so only the sweep finds them.",
    edits: [
      { file: "src/signed/decide.ts", find: "outcome.webhooks.length > 0", replace: "outcome.webhooks.length > 99" },
    ],
  },
  {
    name: "seqs-not-lifted",
    what: "Reconciling a restored home skips no seqs, so the seqs of events since the point are given again.",
    edits: [
      {
        file: "src/store/reconciliations.ts",
        find: "eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${newestSeq}) + ${skip}`",
        replace: "eventSeqFloor: sql`${homeSites.eventSeqFloor} + ${newestSeq} * 0`",
      },
    ],
  },
  {
    name: "redelivers-what-is-under-way",
    steps: LONGER,
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
    name: "rotation-without-overlap",
    what: "A rotation of a webhook's secret ends the previous secret at once.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: "previousExpiresAt: ctx.now + input.overlapSeconds,",
        replace: 'previousExpiresAt: ctx.now + input.overlapSeconds * ("webhookId" in owner ? 0 : 1),',
      },
    ],
  },
  {
    name: "webhook-sealed-as-app",
    what: "A webhook's secret is sealed like an app's, so its seal would open in an app's row.",
    edits: [
      {
        file: "src/credentials/sealed-secret.ts",
        find: 'if ("webhookId" in owner) return `webhook ${owner.webhookId}`;',
        replace: 'if ("webhookId" in owner) return owner.webhookId;',
      },
    ],
  },
  {
    name: "disabling-ends-nothing",
    what: "When an operator disables a webhook, its pending deliveries stay pending.",
    edits: [{ file: WEBHOOKS, find: '...(status === "disabled" ? [endPending(db, key)] : []),', replace: "" }],
  },
  {
    name: "deleting-leaves-deliveries",
    what: "Deleting a webhook keeps its deliveries.",
    edits: [
      {
        file: WEBHOOKS,
        find: "      store.delete(deliveries).where(and(isDeliveryOf(key), inArray(deliveries.seq, some))),\n",
        replace: "      ...(some && []),\n",
      },
    ],
  },
  {
    name: "enabling-leaves-the-reason",
    what: "A webhook that is enabled again keeps its disabled_reason.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "...(isSwitched && { disabledAt: isEnabling ? null : author.now, disabledReason: null }),",
        replace: "...(isSwitched && { disabledAt: isEnabling ? null : author.now }),",
      },
    ],
  },
  {
    name: "enabling-goes-on-failing",
    what: "A webhook that is enabled again keeps its old failing_since.",
    edits: [
      { file: "src/store/home/webhooks.ts", find: "...((isMoved || isEnabling) && {", replace: "...(isMoved && {" },
    ],
  },
  {
    name: "erased-events-left-out",
    what: "The list of events lacks those whose data was erased.",
    edits: [
      {
        file: "src/store/home/events.ts",
        find: ".where(and(eq(events.siteId, siteId), gt(seq, after)))",
        replace: ".where(and(eq(events.siteId, siteId), gt(seq, after), isNotNull(data)))",
      },
    ],
  },
  {
    name: "pings-need-events",
    what: "A ping is lost while its site's events are off.",
    edits: [
      {
        file: "src/store/home/events.ts",
        find: ".from(nextEvent(siteId, isEnabled(db, key))),",
        replace: ".from(nextEvent(siteId, sql`${isEnabled(db, key)} AND home_sites.events`)),",
      },
    ],
  },
  {
    name: "urls-without-origin-stay",
    steps: LONGER,
    what: "A webhook whose URL was made invalid by a hand at the database cannot be changed.",
    edits: [
      {
        file: "src/services/webhooks.ts",
        find: "origin: URL.parse(url)?.origin ?? null",
        replace: "origin: new URL(url).origin",
      },
    ],
  },
  {
    name: "audit-tells-urls",
    what: "The audit log contains the URLs of webhooks, whose paths may contain tokens.",
    edits: [
      {
        file: "src/services/webhooks.ts",
        find: "origin: URL.parse(url)?.origin ?? null",
        replace: "origin: url",
      },
    ],
  },
  {
    name: "newest-event-pruned",
    what: "Pruning deletes the newest event of a site, so that its seq is given again.",
    edits: [
      {
        file: PRUNE_EVENTS,
        find: "        lt(events.seq, ofSite(sql`max(seq)`)),\n",
        replace: "        lt(events.seq, sql`${ofSite(sql`max(seq)`)} + 1`),\n",
      },
    ],
  },
  {
    name: "deliveries-kept-for-ever",
    what: "Pruning keeps the deliveries of the events that it deletes.",
    edits: [
      {
        file: PRUNE_EVENTS,
        find: "of [sql`${old}`, orphans(run.chunkRows)]",
        replace: "of [sql`${old}`, orphans(run.chunkRows)].slice(1)",
      },
    ],
  },
  {
    name: "deliveries-of-deleted-webhooks-kept",
    what: "Pruning keeps the deliveries of deleted webhooks.",
    edits: [
      {
        file: PRUNE_EVENTS,
        find: "of [sql`${old}`, orphans(run.chunkRows)]",
        replace: "of [sql`${old}`, orphans(run.chunkRows)].slice(0, 1)",
      },
    ],
  },
  {
    name: "pings-left-to-the-sweep",
    what: "The queue is not notified of a ping.",
    edits: [
      {
        file: "src/services/events.ts",
        find: "  if (seq === undefined) throw webhookDisabled();\n  notifyQueueOf(ctx, site, id);\n",
        replace: "  if (seq === undefined) throw webhookDisabled();\n",
      },
    ],
  },
];
