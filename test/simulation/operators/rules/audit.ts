import type { Operation, Written } from "./intents.ts";

/**
 * docs/operating.md, "The audit log": each change of an operator leaves its row in the same transaction, once. Tests of
 * the calls say which row, and what it tells.
 */

/** Calls that change much in several transactions, each with a row or without. Their own rules look at them. */
const WHOLE: Operation["intent"]["kind"][] = ["reseal", "restored", "eraseCustomer"];

/** Columns whose change needs no row: they follow from other changes, or are copies and reservations. */
const SILENT =
  /^(revision|claim|kept_at|done_at|previous_\w+|secret|disabled_\w+|failing_\w+|last_\w+|health_since|slow)$/;

/** Whether a change must be told of. */
function isTold({ table, before, after }: Written): boolean {
  if (table === "home_sites" || table === "agents" || table === "admin_tokens")
    return after !== null && differs(before, after);
  if (table === "apps" || table === "webhooks") {
    if (before === null || after === null) return true;
    const isEnd = before.previous_version !== null && after.previous_version === null;
    return isEnd || differs(before, after);
  }
  if (table === "sites" || table === "app_routes") return before === null || (after === null && table === "app_routes");
  return table === "site_deletions" && before === null && after?.kept_at === null;
}

const differs = (before: Written["before"], after: object): boolean =>
  Object.entries(after).some(([column, value]) => !SILENT.test(column) && before?.[column] !== value);

/** @returns how the audit rows of one transaction differ from its changes */
export function wrongAudit({ call, intent, changes: earlier, audited }: Operation, changes: readonly Written[]) {
  const rows = changes.flatMap(({ table, after }) => (table === "audit_log" && after !== null ? [after] : []));
  const strange = rows.find(({ actor, at }) => actor !== "admin-api" || at !== call.clock);
  if (strange !== undefined) return `it says ${JSON.stringify(strange)}`;
  if (WHOLE.includes(intent.kind)) return undefined;
  const isMany = intent.kind === "send" && intent.what === "many";
  const isSent = (all: readonly Written[]) => all.some(({ table }) => table === "deliveries");
  // With a site that ends go its apps and webhooks.
  const itsOwn = intent.kind === "deleteSite" ? changes.filter(({ table }) => table === "site_deletions") : changes;
  // Sending many events goes on where an earlier try stopped. The second try of one leaves no second row.
  const isSentAnew = isSent(changes) && (isMany || !isSent(earlier));
  const told = intent.kind === "send" ? isSentAnew : itsOwn.some(isTold);
  if (told && rows.length === 0) return "the audit log says nothing";
  if (!told && rows.length > 0) return `the audit log says ${rows.map(({ action }) => action)}`;
  for (const { action, subject } of rows) {
    const name = `${action} ${subject}`;
    // A rotation that another one overtakes is made once more, and an appid that was released is kept once more.
    const mayRecur = isMany || intent.kind === "rotate" || action === "app.routed";
    if (audited.has(name) && !mayRecur) return `it says ${name} twice`;
    audited.add(name);
  }
  return undefined;
}
