import type { Model } from "../../checker/model.ts";
import { wrongRow } from "../../checker/row-changes.ts";
import type { OperationOf, WrittenInHome } from "./intents.ts";
import { findUnasked } from "./writes.ts";

/** Changes that are made in the directory and in a home, one after the other: docs/decisions.md, "Sites and homes". */

export function wrongCreateSite(
  model: Model,
  operation: OperationOf<"createSite">,
  change: WrittenInHome,
): string | undefined {
  const { name, home, firstChatId } = operation.intent;
  const { table, before, after } = change;
  const id = Number(table === "sites" ? after?.id : after?.site_id);
  const isSame = (each: number) => {
    const site = model.directory.get(each);
    return site?.name === name && site.home === home && site.firstChatId === firstChatId;
  };
  if (table === "sites" && before === null) {
    const isBegun = [...model.directory].some(([each, { status }]) => status === "creating" && isSame(each));
    if (isBegun) return "a site that was begun before must be finished instead";
    if (model.givenSites.has(id)) return "its id was given before";
    model.givenSites.add(id);
    return after?.status === "creating" ? undefined : "its status is not creating";
  }
  if (!isSame(id) || model.directory.get(id)?.status !== "creating") return "the directory has not begun it";
  if (table === "home_sites") return change.home === home ? undefined : "the row is in another home";
  if (!model.home(home).sites.has(id)) return "its home does not have the site";
  const isOpened = operation.changes.some((each) => each.table === "sites" && each.before !== null);
  return isOpened ? "the call has already opened a site" : wrongRow(change, { status: "open" });
}

/**
 * Checks a change of a site. The home is changed first. The directory gets a copy, but never an older one than it has.
 */
export function wrongChangeSite(
  model: Model,
  operation: OperationOf<"change">,
  change: WrittenInHome,
): string | undefined {
  const { intent, changes, rows, isDisturbed } = operation;
  const siteId = Number(intent.siteId);
  const { before, after } = change;
  const entry = model.directory.get(siteId);
  // After a restore the directory may have lost its row, so nothing can be compared.
  if (before === null || after === null || entry === undefined || isDisturbed) return undefined;
  if (change.table === "home_sites") {
    const home = model.home(change.home);
    if (home.deletions.has(siteId)) return "the deletion of the site has begun";
    const floor = Number(after.chat_id_floor);
    const wantedFloor = intent.wantedColumns.chat_id_floor;
    if (wantedFloor !== undefined && floor !== before.chat_id_floor && floor < home.highestId(siteId))
      return "ids were given above first_chat_id";
    if (wantedFloor === undefined && floor !== Math.max(Number(before.chat_id_floor), entry.firstChatId - 1))
      return "nobody asked for a first_chat_id";
    if (floor < entry.firstChatId - 1) return "the directory knows of more ids";
    const { name, status, retentionDays } = entry;
    // Fields that the call does not name come from the newer copy, which is the home's or the directory's.
    const newer = entry.revision > Number(before.revision) ? { name, status, retention_days: retentionDays } : {};
    if (Number(after.revision) <= Math.max(Number(before.revision), entry.revision)) return "it has no newer revision";
    return findUnasked(intent.wantedColumns, change, { ...before, ...newer });
  }
  const writtenSites = changes.filter(({ table }) => table === "home_sites").map((each) => each.after);
  const original = [...rows, ...writtenSites].find((row) => row?.revision === after.revision);
  if (original == null) return "the home has no such change";
  if (Number(after.revision) <= Number(before.revision)) return "the directory had a newer copy before";
  const { name = "", status = "", retention_days = null } = original;
  const { revision = 0, first_chat_id = 0 } = after;
  return wrongRow(change, { name, status, retention_days, revision, first_chat_id });
}

/**
 * Checks a release: only of a route without an app, after a new revision of the site has stopped calls that issue it.
 */
export function wrongRelease(model: Model, appid: string, { table, before }: WrittenInHome): string | undefined {
  if (table === "apps") return before?.revoked_at === null ? undefined : "it was revoked before";
  return model.listedApp(appid) === undefined ? undefined : "the site has the app";
}
