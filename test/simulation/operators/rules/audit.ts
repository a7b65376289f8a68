import type { Operation, WrittenInHome } from "./intents.ts";

/**
 * docs/operating/people.md, "The audit log": each change of an operator writes one row in the same transaction. Tests of the
 * calls check the content of the row.
 */

/** Calls that change many rows in several transactions, some without an audit row. They have their own rules. */
const WHOLE: Operation["intent"]["kind"][] = ["reseal", "restored", "eraseCustomer"];

/** Columns whose change needs no row: they follow from other changes, or are copies and reservations. */
const SILENT =
  /^(revision|claim|kept_at|done_at|previous_\w+|secret|disabled_\w+|failing_\w+|last_\w+|health_since|slow)$/;

/** Whether a change needs a row in the audit log. */
function needsAuditRow({ table, before, after }: WrittenInHome): boolean {
  if (["home_sites", "agents", "admin_tokens", "people"].includes(table))
    return after !== null && differs(before, after);
  if (table === "apps" || table === "webhooks") {
    if (before === null || after === null) return true;
    const isEnd = before.previous_version !== null && after.previous_version === null;
    return isEnd || differs(before, after);
  }
  if (table === "sites" || table === "app_routes") return before === null || (after === null && table === "app_routes");
  return table === "site_deletions" && before === null && after?.kept_at === null;
}

const differs = (before: WrittenInHome["before"], after: object): boolean =>
  Object.entries(after).some(([column, value]) => !SILENT.test(column) && before?.[column] !== value);

/** @returns how the audit rows of one transaction differ from its changes */
export function wrongAudit({ call, intent, changes: earlier, audits }: Operation, changes: readonly WrittenInHome[]) {
  const rows = changes.flatMap(({ table, after }) => (table === "audit_log" && after !== null ? [after] : []));
  const strangeRow = rows.find(({ actor, at }) => actor !== "admin-api" || at !== call.clock);
  if (strangeRow !== undefined) return `it says ${JSON.stringify(strangeRow)}`;
  if (WHOLE.includes(intent.kind)) return undefined;
  const isMany = intent.kind === "send" && intent.what === "many";
  const isSent = (all: readonly WrittenInHome[]) => all.some(({ table }) => table === "deliveries");
  // The end of a site needs one row. The deletion of its apps and webhooks needs none.
  const ownChanges = intent.kind === "deleteSite" ? changes.filter(({ table }) => table === "site_deletions") : changes;
  // A second try of sending many events continues with its own row. A second try of sending one event adds no row.
  const isSentAnew = isSent(changes) && (isMany || !isSent(earlier));
  const isWritten = intent.kind === "send" ? isSentAnew : ownChanges.some(needsAuditRow);
  if (isWritten && rows.length === 0) return "the audit log says nothing";
  if (!isWritten && rows.length > 0) return `the audit log says ${rows.map(({ action }) => action)}`;
  for (const { action, subject } of rows) {
    const name = `${action} ${subject}`;
    // A call rotates again when another rotation came first, and reserves an appid again when another call has released
    // it.
    const mayRecur = isMany || intent.kind === "rotate" || action === "app.routed";
    if (audits.has(name) && !mayRecur) return `it says ${name} twice`;
    audits.add(name);
  }
  return undefined;
}
