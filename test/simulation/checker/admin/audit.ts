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
    return isOneOf(written, [`null home.restored ${intent.home}`]) ?? unsaidLift(intent.lift, changes, written);
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

/** The lift leaves its row in its own batch. */
const unsaidLift = (lift: number, changes: readonly Written[], written: string[]): string | undefined =>
  written.length === 0 && changes.some((change) => isLift(lift, change)) ? "it says nothing of the lift" : undefined;

/** Whether a site of a home was lifted, and not only given the floors that are known elsewhere. */
export const isLift = (lift: number, { table, before, after }: Change): boolean =>
  table === "home_sites" && Number(after?.event_seq_floor) >= Number(before?.event_seq_floor ?? 0) + lift;

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
