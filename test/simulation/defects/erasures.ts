import type { Defect } from "./defect.ts";

const STEP = "src/store/home/erase-step.ts";
const SERVICE = "src/services/erase-customer.ts";
const AGAIN = "src/services/erase-again.ts";

/** Defects of erasing one customer's data. */
export const ERASURE_DEFECTS: Defect[] = [
  {
    name: "erase-without-receipt-in-kv",
    what: "The receipt of an erasure is not written into KV.",
    edits: [
      {
        file: "src/store/kv-erasures.ts",
        find: "await kv?.put(keyOf(receipt), JSON.stringify(receipt.chatIds)",
        replace: "await kv?.put(keyOf(receipt), JSON.stringify([])",
      },
    ],
  },
  {
    name: "erase-before-the-receipt",
    what: "An erasure deletes before the directory has its receipt.",
    edits: [
      { file: SERVICE, find: "erasure.listedTo < erasure.until && parts", replace: "erasure.listedTo < 0 && parts" },
      { file: SERVICE, find: "|| erasure.listedTo < erasure.until || mustWait", replace: "|| mustWait" },
      { file: SERVICE, find: "  await nameAgain(", replace: "  if (0 > 1) await nameAgain(" },
      { file: STEP, find: "AND ${erasures.listedTo} >= ${erasures.until}`,", replace: "`," },
    ],
  },
  {
    name: "erase-counts-twice",
    what: "A second try of a step counts and tells again.",
    edits: [
      {
        file: STEP,
        find: "AND ${erasures.step} = ${v.step} AND ${erasures.doneAt} IS NULL",
        replace: "AND ${erasures.step} >= ${v.step} AND ${erasures.doneAt} IS NULL",
      },
      {
        file: STEP,
        find: "${erasures.step} = ${v.step} + 1 AND ${erasures.madeBy} = ${v.madeBy})`",
        replace: "${erasures.madeBy} = ${v.madeBy})`",
      },
    ],
  },
  {
    name: "erase-keeps-messages",
    what: "The messages of an erased session stay.",
    edits: [
      {
        file: STEP,
        find: "DELETE FROM ${messages} WHERE ${ofSessions(v, messages)}",
        replace: "UPDATE ${messages} SET session_id = ${v.lastChatId} + 1 WHERE ${ofSessions(v, messages)}",
      },
    ],
  },
  {
    name: "erase-keeps-event-data",
    what: "The data of the site's newest event stays.",
    edits: [
      {
        file: STEP,
        find: "UPDATE ${events} SET data = NULL WHERE ${withData(v)}",
        replace: "UPDATE ${events} SET data = NULL WHERE seq < ${v.newestSeq} AND ${withData(v)}",
      },
    ],
  },
  {
    name: "erase-misses-added-agents",
    what: "The events of agents who were added later keep their data.",
    edits: [
      {
        file: "src/store/home/events-of-sessions.ts",
        find: "AND ${events.type} IN (${CREATED}, ${ADDED}) AND",
        replace: "AND ${events.type} IN (${CREATED}) AND",
      },
    ],
  },
  {
    name: "erase-keeps-deliveries",
    what: "Failed deliveries of erased events stay failed, with the receiver's words.",
    edits: [
      {
        file: STEP,
        find: "AND (status IN ('pending', 'failed') OR last_error IS NOT NULL)",
        replace: "AND (status IN ('pending') OR last_error IS NOT NULL AND status <> 'failed')",
      },
    ],
  },
  {
    name: "erase-keeps-the-lease",
    what: "An attempt in flight keeps its lease, so that its failure is recorded on a skipped delivery.",
    edits: [
      {
        file: STEP,
        find: "ELSE status END, next_attempt_at = NULL, claim = NULL",
        replace: "ELSE status END, next_attempt_at = NULL",
      },
    ],
  },
  {
    name: "words-after-the-person",
    what: "An attempt in flight writes what its receiver said, after its event was erased and its lease taken.",
    edits: [
      {
        file: "src/store/home/deliveries.ts",
        find: "last_error = iif(${HAS_DATA}, each.value ->> 'lastError', NULL)",
        replace: "last_error = iif(${HAS_DATA}, each.value ->> 'lastError', each.value ->> 'lastError')",
      },
      {
        file: "src/store/home/deliveries.ts",
        find: "AND (${deliveries.lease} = each.value ->> 'lease'",
        replace:
          "AND (iif(${deliveries.status} = 'skipped', each.value ->> 'lease', ${deliveries.lease}) = each.value ->> 'lease'",
      },
    ],
  },
  {
    name: "words-at-the-webhook",
    what: "A webhook keeps what its receiver said beside the delivery.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "SET failing_since = coalesce(failing_since, ${v.now}),",
        replace:
          "SET last_error = (SELECT d.last_error FROM deliveries AS d WHERE d.site_id = ${v.siteId} AND d.webhook_id = ${v.webhookId} AND d.seq = ${v.lastSeq}), failing_since = coalesce(failing_since, ${v.now}),",
      },
    ],
  },
  {
    name: "words-after-the-event",
    what: "What receivers said of an event stays when the event is pruned.",
    edits: [
      {
        file: "src/store/prune-events.ts",
        find: "lease: null, lastError: null })",
        replace: "lease: null })",
      },
    ],
  },
  {
    name: "erase-gives-ids-again",
    what: "The floor does not rise when a site's newest session goes.",
    edits: [
      {
        file: STEP,
        find: "raiseFloor(v, isMine(v))",
        replace: "raiseFloor(v, sql`false`)",
      },
    ],
  },
  {
    name: "erase-takes-newer-sessions",
    what: "An erasure takes sessions that were opened after it began.",
    edits: [
      {
        file: STEP,
        find: "const chosen = { siteId, externalId, after: 0, until, limit: SESSIONS_PER_STEP };",
        replace: "const chosen = { siteId, externalId, after: 0, until: until + 99, limit: SESSIONS_PER_STEP };",
      },
    ],
  },
  {
    name: "erase-keeps-an-old-beginning",
    what: "A call that erased nothing decides what later calls erase: sessions that were opened since stay.",
    edits: [
      {
        file: "src/store/home/erasures.ts",
        find: "eq(erasures.step, 0), hasNewer)",
        replace: "eq(erasures.step, -1), hasNewer)",
      },
    ],
  },
  {
    name: "erase-keeps-first-time",
    what: "A customer who came back keeps the time of the first erased session.",
    edits: [
      {
        file: STEP,
        find: "UPDATE ${customers} SET created_at = (",
        replace: "UPDATE ${customers} SET created_at = created_at + 0 * (",
      },
    ],
  },
  {
    name: "erase-tells-nobody",
    what: "No webhook gets session.erased.",
    edits: [
      {
        file: STEP,
        find: "FROM ${webhooks} WHERE ${takesErased(v)} AND ${CHANGED}",
        replace: "FROM ${webhooks} WHERE FALSE AND ${takesErased(v)} AND ${CHANGED}",
      },
    ],
  },
  {
    name: "erase-counts-only-what-is-in-flight",
    what: "A receiver that has refused an erased event counts as one that never saw it.",
    edits: [
      {
        file: STEP,
        find: "status <> 'delivered' AND last_attempt_at IS NOT NULL",
        replace: "status = 'pending' AND last_attempt_at IS NOT NULL",
      },
    ],
  },
  {
    name: "erase-miscounts-in-the-audit-log",
    what: "The audit row of an erasure has the events in place of the deliveries.",
    edits: [{ file: STEP, find: "'deliveries', deliveries)\n", replace: "'deliveries', events)\n" }],
  },
  {
    name: "erase-keeps-the-id",
    what: "The row of an erasure names the customer after its end.",
    edits: [
      { file: STEP, find: "done_at = ${v.now}, external_id = NULL", replace: "done_at = ${v.now}" },
      {
        file: "src/store/home/erasures.ts",
        find: "=> erasure.externalId !== null;",
        replace: "=> erasure.doneAt === null;",
      },
    ],
  },
  {
    name: "erase-ignores-who-is-back",
    what: "A customer who was erased once is not erased again.",
    edits: [
      {
        file: "src/store/home/erasures.ts",
        find: "WHERE NOT EXISTS ${underWay} AND",
        replace: "WHERE NOT EXISTS (SELECT 1 FROM ${erasures} WHERE ${isOfCustomer}) AND",
      },
    ],
  },
  {
    name: "customer-hash-without-key",
    what: "The hash of a customer is keyed with what stands beside it.",
    edits: [
      {
        file: "src/services/customer-hash.ts",
        find: 'importKey("raw", Uint8Array.fromHex(hex),',
        replace: 'importKey("raw", encoder.encode(row.id),',
      },
    ],
  },
  {
    name: "export-skips-a-session",
    what: "The next page of an export begins one session too late.",
    edits: [
      {
        file: "src/services/customers.ts",
        find: "> SESSIONS_PER_PAGE ? String(last) : null",
        replace: "> SESSIONS_PER_PAGE ? String(chatIds.at(-1)) : null",
      },
    ],
  },
  {
    name: "export-misses-events",
    what: "An export has no events of the last session of a page.",
    edits: [
      {
        file: "src/services/customers.ts",
        find: "Number(sessionId) <= last)",
        replace: "Number(sessionId) < Number(page.at(-1)?.id))",
      },
    ],
  },
  {
    name: "export-leaves-no-row",
    what: "Only the first page of an export leaves a row in the audit log.",
    edits: [
      {
        file: "src/services/customers.ts",
        find: "  await insertAudit(db, authorOf(ctx),",
        replace: "  if (after === 0) await insertAudit(db, authorOf(ctx),",
      },
    ],
  },
  {
    name: "settling-erases-nobody",
    what: "Settling a restored home does not erase again.",
    edits: [
      {
        file: AGAIN,
        find: "if (first !== undefined && !done.has(nameOf(first))) due.push",
        replace: "if (first !== undefined && done.has(nameOf(first))) due.push",
      },
    ],
  },
  {
    name: "settling-forgets-the-rest",
    what: "Settling a restored home erases only one step, and says that nothing is left.",
    edits: [
      { file: AGAIN, find: 'return isOpen(progress) ? "left" : "done";', replace: 'return "done";' },
      {
        file: AGAIN,
        find: "while (isOpen(progress) && ctx.runtime.elapsed() < answerBy) {",
        replace: "while (isOpen(progress) && progress.step < 1) {",
      },
    ],
  },
];
