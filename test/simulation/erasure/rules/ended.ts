import type { Model } from "../../checker/model.ts";
import type { Row } from "../../platform/database.ts";
import type { Home } from "../../world/cloud/home.ts";

/** A site whose end was answered must not be found anywhere at the end, but for what docs/operating.md names in "Deleting a site". */

/** What stays for good. */
const STAYS = ["audit_log", "site_deletions"];

interface Places {
  homes: Iterable<Home>;
  /** Homes whose rows may come from a restore that is not settled. */
  except: ReadonlySet<string>;
}

/** @returns which site is found and where; undefined when none is */
export function endedAgain(model: Model, { homes, except }: Places): string | undefined {
  const all = [...homes];
  for (const [name, { id, isTold }] of model.ends) {
    const [home = "", site] = name.split("/");
    const siteId = Number(site);
    if (!isTold || except.has(home) || except.has("main")) continue;
    const row = model.home(home).deletions.get(siteId);
    if (row?.id !== id) return `${home} does not know that site ${siteId} has ended by ${id}`;
    // A home that is closed at the end has not done its part.
    if (row.done_at === null) continue;
    for (const { name: at, database } of all) {
      for (const table of database.tables()) {
        if (STAYS.includes(table)) continue;
        const left = database.rows(table).find((each) => isOf(table, each, siteId) && !isKept(table, each));
        if (left !== undefined) return `site ${siteId} is in ${table} of ${at}: ${JSON.stringify(left)}`;
      }
    }
  }
  return undefined;
}

const isOf = (table: string, row: Row, siteId: number): boolean =>
  (table === "sites" ? row.id : row.site_id) === siteId;

/** What the directory keeps until its appids are free again. */
function isKept(table: string, row: Row): boolean {
  if (table === "sites") return row.status === "deleted" && row.name === "";
  return table === "app_routes";
}
