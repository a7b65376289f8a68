import type { Row } from "../../platform/database.ts";
import { detailsOf, sorted, wrongReconciliation, wrongResealing } from "./audit-details.ts";
import { isErasing } from "./erasures.ts";
import type { Operation, Written } from "./intents.ts";
import { wrongRedeliveryAudit, wrongSendingAudit } from "./redeliveries.ts";
import { isReconciling } from "./row-changes.ts";
import { wrongTokenAudit } from "./tokens.ts";

/**
 * docs/operating.md: each change that an operator makes leaves a row in the audit log in the same transaction.
 *
 * @param changes all changes of one transaction
 * @returns how its audit rows differ from its changes
 */
export function wrongAudit(operation: Operation, changes: readonly Written[]): string | undefined {
  const { call, intent } = operation;
  const rows = changes.filter(({ table }) => table === "audit_log").map(({ after }) => after ?? {});
  const strange = rows.find(({ actor, at }) => actor !== "admin-api" || at !== call.clock);
  if (strange !== undefined) return `it says ${JSON.stringify(strange)}`;
  const written = rows.map(entryOf).sort();
  // A call that brings an appid or a secret along imports; without them it issues.
  const imports = intent.kind === "issueApp" && (intent.appid ?? intent.secret) !== undefined;
  const misnamed = rows.find(({ action }) => action === `app.${imports ? "issued" : "imported"}`);
  if (misnamed !== undefined) return `it says ${misnamed.action}`;
  // An erasure's transaction is checked as a whole: erasures.ts.
  if (intent.kind === "eraseCustomer" || (intent.kind === "restored" && isErasing(changes))) return undefined;
  if (intent.kind === "exportSite") return isOneOf(written, [`${intent.siteId} site.exported ${intent.siteId}`]);
  if (intent.kind === "exportCustomer") return isOneOf(written, [`${intent.siteId} customer.exported `]);
  if (intent.kind === "reseal") {
    return isOneOf(written, ["null secrets.resealed "]) ?? (rows[0] && wrongResealing(rows[0], changes));
  }
  // What goes with a site goes by the row of its end.
  const ends = changes.filter(({ table }) => table === "site_deletions");
  if (intent.kind === "restored" && ends.length > 0) {
    const begun = ends.flatMap(actionsOf).sort();
    return JSON.stringify(written) === JSON.stringify(begun)
      ? undefined
      : `it says ${written.join(", ") || "nothing"} of an end`;
  }
  if (intent.kind === "restored") {
    const reconciles = changes.some((change) => isReconciling(change, intent.home));
    if (reconciles !== written.length > 0) return `it says ${written.join(", ") || "nothing"} of the reconciliation`;
    const strange = isOneOf(written, [`null home.restored ${intent.home}`]);
    return strange ?? (rows[0] && wrongReconciliation(rows[0], changes, intent.home, intent.lift));
  }
  if (intent.kind === "redeliverMany") return wrongRedeliveryAudit({ ...operation, intent }, changes);
  if (intent.kind === "ping" || intent.kind === "redeliver")
    return wrongSendingAudit({ ...operation, intent }, changes);
  if (intent.kind === "createToken" || intent.kind === "deleteToken") return wrongTokenAudit(rows, changes);
  const told = intent.kind === "deleteSite" ? ends : changes;
  const expected = told.flatMap(actionsOf).sort();
  if (JSON.stringify(written) === JSON.stringify(expected)) return wrongDetails(operation, told, rows);
  return `the audit log says ${written.join(", ") || "nothing"}, expected ${expected.join(", ") || "nothing"}`;
}

/** @returns how the details of one of the rows are wrong */
function wrongDetails(operation: Operation, changes: readonly Written[], rows: readonly Row[]): string | undefined {
  for (const change of changes) {
    for (const entry of actionsOf(change)) {
      const said = rows.find((row) => entryOf(row) === entry)?.details;
      const [, action = ""] = entry.split(" ");
      const known = detailsOf(operation, action, change).map(sorted);
      if (!known.includes(sorted(JSON.parse(String(said)) as object))) {
        return `the audit log says ${said} of ${entry}, expected ${known.join(" or ")}`;
      }
    }
  }
  return undefined;
}

const entryOf = ({ site_id, action, subject }: Row): string =>
  `${site_id} ${action === "app.imported" ? "app.issued" : action} ${subject}`;

const isOneOf = (written: string[], known: string[]): string | undefined => {
  const strange = written.length > 1 ? written : written.filter((each) => !known.includes(each));
  return strange.length === 0 ? undefined : `the audit log says ${strange.join(", ")}`;
};

function actionsOf({ table, before, after }: Written): string[] {
  if (after === null && table === "app_routes") return [`${before?.site_id} app.released ${before?.appid}`];
  if (after === null) return table === "webhooks" ? [`${before?.site_id} webhook.deleted ${before?.id}`] : [];
  const differs = (column: string) => before !== null && before[column] !== after[column];
  const named = (subject: Row[string] | undefined, actions: (string | false)[]) =>
    actions.filter((action) => action !== false).map((action) => `${after.site_id} ${action} ${subject}`);
  const isEnded = differs("previous_version") && after.previous_version === null && !differs("version");
  switch (table) {
    case "home_sites":
      return named(after.site_id, [
        before === null && "site.created",
        differs("name") && "site.renamed",
        differs("status") && `site.${after.status === "closed" ? "closed" : "opened"}`,
        differs("chat_id_floor") && "site.first_chat_id_set",
        differs("events") && `site.events_${after.events === 1 ? "on" : "off"}`,
        before !== null && differs("retention_days") && "site.retention_set",
      ]);
    case "site_deletions":
      return named(after.site_id, [before === null && after.kept_at === null && "site.deletion_begun"]);
    case "sites":
      return before === null ? [`${after.id} site.begun ${after.id}`] : [];
    case "app_routes":
      return named(after.appid, [before === null && "app.routed"]);
    case "apps":
      return named(after.appid, [
        before === null && "app.issued",
        differs("version") && "app.rotated",
        isEnded && "app.overlap_ended",
        differs("revoked_at") && "app.revoked",
      ]);
    case "agents":
      return named(after.id, [
        before === null && "agent.added",
        differs("name") && "agent.renamed",
        differs("status") && `agent.${after.status === "normal" ? "enabled" : "disabled"}`,
      ]);
    case "webhooks":
      return named(after.id, [
        before === null && "webhook.added",
        (differs("url") || differs("events")) && "webhook.changed",
        differs("status") && `webhook.${after.status}`,
        differs("version") && "webhook.rotated",
        isEnded && "webhook.overlap_ended",
      ]);
    default:
      return [];
  }
}
