import type { Change, Row } from "../../platform/database.ts";
import type { Operation } from "./intents.ts";

type Written = Change & { home: string };

/**
 * docs/operating.md: each change that an operator makes leaves a row in the audit log in the same transaction.
 *
 * @param changes all of one transaction
 * @returns how its audit rows differ from what it changed
 */
export function wrongAudit({ call, intent }: Operation, changes: readonly Written[]): string | undefined {
  const rows = changes.filter(({ table }) => table === "audit_log").map(({ after }) => after ?? {});
  const strange = rows.find(({ actor, at }) => actor !== "admin-api" || at !== call.clock);
  if (strange !== undefined) return `it says ${JSON.stringify(strange)}`;
  const telling = changes.find(({ table, after }) => table === "webhooks" && rows.some((row) => tells(row, after)));
  if (telling !== undefined) return "it holds more of a URL than its origin";
  const written = rows
    .map(({ site_id, action, subject }) => {
      // Whether anything was imported shows in the call.
      return `${site_id} ${action === "app.imported" ? "app.issued" : action} ${subject}`;
    })
    .sort();
  if (intent.kind === "reseal") return isOneOf(written, ["null secrets.resealed "]);
  if (intent.kind === "restored") {
    const settles = changes.some((change) => isSettling(change, intent.home));
    return settles === written.length > 0
      ? isOneOf(written, [`null home.restored ${intent.home}`])
      : `it says ${written.join(", ") || "nothing"} of the settling`;
  }
  const expected = changes.flatMap(actionsOf).sort();
  if (JSON.stringify(written) === JSON.stringify(expected)) return undefined;
  return `the audit log says ${written.join(", ") || "nothing"}, expected ${expected.join(", ") || "nothing"}`;
}

/** The path of a webhook's URL may hold a token. */
const tells = ({ details }: Row, webhook: Row | null): boolean => {
  const path = webhook === null ? "/" : new URL(String(webhook.url)).pathname;
  return path !== "/" && String(details).includes(path);
};

const isOneOf = (written: string[], known: string[]): string | undefined => {
  const strange = written.length > 1 ? written : written.filter((each) => !known.includes(each));
  return strange.length === 0 ? undefined : `the audit log says ${strange.join(", ")}`;
};

/** Whether a change notes that a home is settled: the home is lifted in that batch, or the directory keeps what it was lifted to. */
export const isSettling = ({ table, before, after }: Change, home: string): boolean =>
  table === "settlings" && before === null && after?.home === home;

function actionsOf({ table, before, after }: Written): string[] {
  if (after === null && table === "app_routes") return [`${before?.site_id} app.released ${before?.appid}`];
  if (after === null) return table === "webhooks" ? [`${before?.site_id} webhook.deleted ${before?.id}`] : [];
  const differs = (column: string) => before !== null && before[column] !== after[column];
  const named = (subject: Row[string] | undefined, actions: (string | false)[]) =>
    actions.filter((action) => action !== false).map((action) => `${after.site_id} ${action} ${subject}`);
  switch (table) {
    case "home_sites":
      return named(after.site_id, [
        before === null && "site.created",
        differs("name") && "site.renamed",
        differs("status") && `site.${after.status === "closed" ? "closed" : "opened"}`,
        differs("chat_id_floor") && "site.first_chat_id_set",
        differs("events") && `site.events_${after.events === 1 ? "on" : "off"}`,
      ]);
    case "sites":
      return before === null ? [`${after.id} site.begun ${after.id}`] : [];
    case "app_routes":
      return named(after.appid, [before === null && "app.routed"]);
    case "apps":
      return named(after.appid, [
        before === null && "app.issued",
        differs("version") && "app.rotated",
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
      ]);
    default:
      return [];
  }
}
