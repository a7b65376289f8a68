import { hasEnded, type Model } from "../../checker/model.ts";
import { inserts, wrongRow } from "../../checker/row-changes.ts";
import type { OperationOf, WrittenInHome } from "../../operators/rules/intents.ts";
import type { Row, RowChange } from "../../platform/database.ts";

/**
 * The end of a site by `DELETE /sites/{id}`, and its end again in a restored home: docs/operating/data-and-restore.md, "Deleting a
 * site". removals.ts has the rules for what the cron job deletes then.
 */

/** Which place outside of its home lacks the end of a site; undefined when the directory and KV have it. */
export function whyUnkept(model: Model, home: string, siteId: number, id: string): string | undefined {
  if (!hasEnded(model.directory.get(siteId))) return "the directory does not say that the site ends";
  if (model.home("main").deletions.get(siteId)?.id !== id) return "the directory does not have its end";
  return model.isEndInKv?.(home, siteId, id) === false ? "KV does not have its end" : undefined;
}

/**
 * Checks a change by a call that ends a site. The home decides, KV and the directory store that, then the site stops.
 * @returns what is wrong
 */
export function wrongSiteEnd(
  model: Model,
  { call, intent }: OperationOf<"deleteSite">,
  change: WrittenInHome,
): string | undefined {
  const { siteId, name } = intent;
  const { table, before, after } = change;
  const row = (after ?? before) as Row;
  if ((table === "sites" ? row.id : row.site_id) !== siteId) return "the row belongs to another site";
  const entry = model.directory.get(siteId);
  const home = model.home(entry?.home ?? "");
  const end = home.deletions.get(siteId);
  const isOfHome = change.home === entry?.home;
  if (table === "site_deletions" && before === null && isOfHome) {
    const site = home.sites.get(siteId);
    if (site?.status !== "closed") return "the site is not closed";
    if (site.name !== name) return `its name is ${site.name}`;
    return inserts(change, { home: home.name, begun_at: call.clock, kept_at: null, done_at: null });
  }
  if (table === "home_sites" && isOfHome && after !== null) {
    const ends = wrongRow(change, { revision: Number(before?.revision) + 1 });
    return ends === undefined ? undefined : wrongRow(change, { status: "closed" });
  }
  if (end === undefined) return "its home has not begun its end";
  const id = String(end.id);
  if (table === "site_deletions" && before === null) {
    const expectedRow = { id, home: home.name, begun_at: end.begun_at ?? 0, kept_at: call.clock, done_at: null };
    return change.home === "main" ? inserts(change, expectedRow) : "the end belongs in the directory or the home";
  }
  if (table === "sites") return wrongRow(change, { status: "deleting" });
  if (!isOfHome) return "the end belongs in the directory or the home";
  const reason = whyUnkept(model, home.name, siteId, id);
  if (reason !== undefined) return reason;
  if (table === "site_deletions") return wrongRow(change, { kept_at: before?.kept_at ?? call.clock, done_at: null });
  return isStopped(change) ? undefined : "the cron job does the rest";
}

/** @returns why the answer to a call that ends a site is wrong */
export function wrongSiteEndAnswer(
  model: Model,
  { intent: { siteId } }: OperationOf<"deleteSite">,
  body: { deletion_id?: string },
): string | undefined {
  const name = model.directory.get(siteId)?.home ?? "";
  const home = model.home(name);
  const end = home.deletions.get(siteId);
  if (end === undefined || end.id !== body.deletion_id) return "its home has no such end";
  if (end.kept_at === null) return "the end is stored only in its home";
  if (!hasEnded(model.directory.get(siteId))) return "the directory does not say that the site ends";
  if ([...home.apps.values()].some((app) => app.siteId === siteId)) return "an app is left";
  return home.outbox.webhooksOf(siteId).length > 0 ? "a webhook is left" : undefined;
}

/** Whether a change deletes an app or a webhook. */
export const isStopped = ({ table, after }: RowChange): boolean =>
  (table === "apps" || table === "webhooks") && after === null;

/** Whether a change by a call that settles a home ends a site. */
export function isOfEnd(change: WrittenInHome): boolean {
  const { table, before, after } = change;
  if (table === "site_deletions" || isStopped(change)) return true;
  return table === "sites" && hasEnded({ status: String(after?.status) }) && before?.status !== after?.status;
}

/** Checks a change by a call that settles a restored home and ends its sites again. @returns what is wrong */
export function wrongEndAgain(
  model: Model,
  { intent }: OperationOf<"restored">,
  change: WrittenInHome,
): string | undefined {
  const { table, before, after } = change;
  const row = (after ?? before) as Row;
  const siteId = Number(table === "sites" ? row.id : row.site_id);
  const endOf = (home: unknown) => model.ends.get(`${home}/${siteId}`);
  switch (table) {
    case "site_deletions": {
      if (endOf(row.home) === undefined) return "no end of this site in this home was begun";
      if (change.home !== intent.home && change.home !== "main") return "the end belongs in the directory or the home";
      if (before === null) return undefined;
      return wrongRow(change, { kept_at: after?.kept_at ?? null, done_at: after?.done_at ?? null });
    }
    case "sites": {
      if (endOf(row.home) === undefined) return "no end of this site was begun";
      const isGone = row.status === "deleted";
      return wrongRow(change, { status: row.status ?? "", name: isGone ? "" : (before?.name ?? "") });
    }
    default:
      return change.home === intent.home && endOf(change.home) !== undefined ? undefined : "its site has not ended";
  }
}
