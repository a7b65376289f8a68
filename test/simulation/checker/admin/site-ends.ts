import type { Row } from "../../platform/database.ts";
import type { Settings } from "../../world/cloud/settings.ts";
import { hasEnded, type Model } from "../model.ts";
import type { OperationOf, Written } from "./intents.ts";
import { becomes, inserts } from "./row-changes.ts";

/**
 * The end of a site, `DELETE /sites/{id}`, and its end once more in a restored home: docs/operating.md, "Deleting a site". What the cron
 * job deletes then has its rules in removals.ts.
 */

type Asked = OperationOf<"deleteSite">["intent"];

/** The status that a call gets for what is stored now, when no fault meets it. */
export function statusOfSiteEnd(
  model: Model,
  site: { home: string; status: string },
  { siteId, name }: Asked,
  { closedHomes }: Settings,
): number {
  if (closedHomes.includes(site.home) || closedHomes.includes("main")) return 503;
  if (site.status === "creating") return 409;
  const home = model.home(site.home);
  const stored = home.sites.get(siteId);
  if (home.deletions.has(siteId)) return stored === undefined || stored.name === name ? 202 : 400;
  if (stored === undefined) return 404;
  if (stored.name !== name) return 400;
  return stored.status === "closed" ? 202 : 409;
}

/** Why the end of a site is not known where a restore of its home does not reach; undefined when it is. */
function notKept(model: Model, home: string, siteId: number, id: string): string | undefined {
  if (!hasEnded(model.directory.get(siteId))) return "the directory does not say that the site ends";
  if (model.home("main").deletions.get(siteId)?.id !== id) return "the directory does not have its end";
  return model.isEndInKv?.(home, siteId, id) === false ? "KV does not have its end" : undefined;
}

/** @returns how a change by a call that ends a site is wrong */
export function wrongSiteEnd(
  model: Model,
  { call, intent }: OperationOf<"deleteSite">,
  change: Written,
): string | undefined {
  const { siteId, name } = intent;
  const { table, before, after } = change;
  const row = (after ?? before) as Row;
  if ((table === "sites" ? row.id : row.site_id) !== siteId) return "another site's";
  const listed = model.directory.get(siteId);
  const home = model.home(listed?.home ?? "");
  const begun = home.deletions.get(siteId);
  const isOfHome = change.home === listed?.home;
  if (table === "site_deletions" && before === null && isOfHome) {
    const stored = home.sites.get(siteId);
    if (stored?.status !== "closed") return "the site is not closed";
    if (stored.name !== name) return `its name is ${stored.name}`;
    return inserts(change, { home: home.name, begun_at: call.clock, kept_at: null, done_at: null });
  }
  if (table === "home_sites" && isOfHome && after !== null) {
    const ends = becomes(change, { revision: Number(before?.revision) + 1 });
    return ends === undefined ? undefined : becomes(change, { status: "closed" });
  }
  if (begun === undefined) return "its home has not begun its end";
  const id = String(begun.id);
  if (table === "site_deletions" && before === null) {
    const kept = { id, home: home.name, begun_at: begun.begun_at ?? 0, kept_at: call.clock, done_at: null };
    return change.home === "main" ? inserts(change, kept) : "not a place of ends";
  }
  if (table === "sites") return becomes(change, { status: "deleting" });
  if (!isOfHome) return "not a place of its end";
  const unkept = notKept(model, home.name, siteId, id);
  if (unkept !== undefined) return unkept;
  if (table === "site_deletions") return becomes(change, { kept_at: before?.kept_at ?? call.clock, done_at: null });
  const isStopped = (table === "apps" || table === "webhooks") && after === null;
  return isStopped ? undefined : "the cron job does the rest";
}

/** @returns how the answer to a call that ends a site is wrong */
export function wrongSiteEndAnswer(
  model: Model,
  { call, intent: { siteId } }: OperationOf<"deleteSite">,
  body: { deletion_id?: string; deletions?: { hash?: string }[] },
): string | undefined {
  const name = model.directory.get(siteId)?.home ?? "";
  const home = model.home(name);
  const begun = home.deletions.get(siteId);
  if (begun === undefined || begun.id !== body.deletion_id) return "its home has no such end";
  if (begun.kept_at === null) return "nobody else knows of its end";
  if (!hasEnded(model.directory.get(siteId))) return "the directory does not say that the site ends";
  if ([...home.apps.values()].some((app) => app.siteId === siteId)) return "an app is left";
  if (home.outbox.webhooksOf(siteId).length > 0) return "a webhook is left";
  const isKeptByOperator = !("CREDENTIALS" in (call.isolate?.env ?? {}));
  // The hash is checked by settling with it.
  const hash = body.deletions?.[0]?.hash;
  const kept = JSON.stringify([{ deletion_id: body.deletion_id, site_id: siteId, hash }]);
  return JSON.stringify(body.deletions) === (isKeptByOperator ? kept : undefined) ? undefined : `expected ${kept}`;
}

/** Whether a change by a call that settles a home ends a site. */
export function isOfEnd({ table, before, after }: Written): boolean {
  if (table === "site_deletions" || table === "admin_tokens") return true;
  if (table === "apps" || table === "webhooks") return after === null;
  return table === "sites" && hasEnded({ status: String(after?.status) }) && before?.status !== after?.status;
}

/** @returns how a change by a call that settles a restored home, and so ends its sites again, is wrong */
export function wrongEndAgain(model: Model, { intent }: OperationOf<"restored">, change: Written): string | undefined {
  const { table, before, after } = change;
  const row = (after ?? before) as Row;
  const siteId = Number(table === "sites" ? row.id : row.site_id);
  const endOf = (home: unknown) => model.ends.get(`${home}/${siteId}`);
  const listed = model.directory.get(siteId);
  switch (table) {
    case "site_deletions": {
      if (endOf(row.home) === undefined) return "no end of this site in this home was begun";
      if (change.home !== intent.home && change.home !== "main") return "not a place of its end";
      return before === null
        ? undefined
        : becomes(change, { kept_at: after?.kept_at ?? null, done_at: after?.done_at ?? null });
    }
    case "sites": {
      if (endOf(row.home) === undefined) return "no end of this site was begun";
      const isGone = row.status === "deleted";
      return becomes(change, { status: row.status ?? "", name: isGone ? "" : (before?.name ?? "") });
    }
    case "admin_tokens": {
      const isOfGone = listed !== undefined && endOf(listed.home) !== undefined;
      return isOfGone ? becomes(change, { deleted_at: after?.deleted_at ?? 0 }) : "its site has not ended";
    }
    default:
      return change.home === intent.home && endOf(change.home) !== undefined ? undefined : "its site has not ended";
  }
}
