import type { Model } from "../../checker/model.ts";
import type { Row } from "../../platform/database.ts";
import type { KvTruth } from "../../platform/kv.ts";
import type { Home } from "../../world/cloud/home.ts";
import { sessionsOf } from "./erased-rows.ts";

/**
 * Who was erased, and a site whose end was answered, must not be found anywhere: in no table of any home that is not
 * under restore, and who was erased not in KV. Free pages of a file are not searched: the platform does not let anybody
 * overwrite them.
 */

interface Places {
  homes: Iterable<Home>;
  kv: readonly KvTruth[];
  /** Homes whose rows may come from a restore that is not settled, or whose receipts nobody kept. */
  except: ReadonlySet<string>;
}

/** What stays of a site that has ended for good: docs/operating.md, "Deleting a site". */
const STAYS = ["audit_log", "site_deletions"];

/** A text as it stands within JSON. */
const asJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** @returns which session of a home is back although its erasure has ended; undefined when none is */
export function backAgain(model: Model, home: string): string | undefined {
  for (const { id, siteId, sbs, chatIds, ends, ...erasure } of model.erasures.values()) {
    if (ends === 0 || erasure.home !== home || model.ends.has(`${home}/${siteId}`)) continue;
    // Other sessions may be back that one restore had undone before the erasure, and another restore has not: no receipt names them.
    const back = sessionsOf(model.home(home), { siteId, sbs }).find(({ row }) => chatIds.has(Number(row.id)));
    if (back !== undefined) return `session ${back.row.id} of site ${siteId} in ${home} is back after erasure ${id}`;
  }
  return undefined;
}

/** @returns who is found and where; undefined when nobody is */
export function foundAgain(model: Model, { homes, kv, except }: Places): string | undefined {
  for (const home of model.homes.keys()) {
    const back = except.has(home) ? undefined : backAgain(model, home);
    if (back !== undefined) return back;
  }
  const texts = new Set(model.erasedTexts);
  // A caller may give the same order again, and a hand at the database may take that session and leave its event.
  for (const [home, { sessions, outbox }] of model.homes) {
    const said = [...sessions.values()].flatMap(({ messages }) => messages.map(({ content }) => String(content)));
    for (const text of texts) if (said.some((each) => each.includes(text))) texts.delete(text);
    for (const { site_id, session_id, data } of outbox.events.values()) {
      if (data === null || model.erasedSessions.has(`${home}/${site_id}/${session_id}`)) continue;
      for (const text of texts) if (String(data).includes(asJson(text))) texts.delete(text);
    }
  }
  const search = (where: string, held: string) => {
    for (const text of texts) if (held.includes(asJson(text))) return `${text} is in ${where}`;
    return undefined;
  };
  for (const { name, database } of homes) {
    if (except.has(name)) continue;
    const named = database.rows("erasures").find((row) => (row.done_at === null) === (row.external_id === null));
    if (named !== undefined)
      return `an erasure of ${name} names the customer only while it is under way: ${JSON.stringify(named)}`;
    for (const table of database.tables()) {
      const held = database.rows(table).map((row) => Object.values(row).join("\n"));
      const found = search(`${table} of ${name}`, held.join("\n"));
      if (found !== undefined) return found;
    }
  }
  for (const truth of kv) {
    for (const [key, { value, metadata }] of truth) {
      const found = search(`KV ${key}`, `${key}\n${value}\n${metadata}`);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** @returns which site is found and where; undefined when none is */
export function endedAgain(model: Model, { homes, except }: Omit<Places, "kv">): string | undefined {
  const all = [...homes];
  for (const [name, { id, isTold }] of model.ends) {
    const [home = "", site] = name.split("/");
    const siteId = Number(site);
    if (!isTold || except.has(home) || except.has("main")) continue;
    const { deletions, sites } = model.home(home);
    const row = deletions.get(siteId);
    // Without KV a restore of `main` may take the key of the operator's hash: then a home does not keep the end of a site that it has not.
    const mayBeUnknown = !model.isKvBound && row === undefined && !sites.has(siteId);
    if (row?.id !== id && !mayBeUnknown) return `${home} does not know that site ${siteId} has ended by ${id}`;
    // A home that is closed at the end has not done its part.
    if (row?.done_at === null) continue;
    for (const { name: at, database } of all) {
      for (const table of database.tables().filter((each) => !STAYS.includes(each))) {
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
const isKept = (table: string, row: Row): boolean =>
  table === "app_routes" || (table === "sites" && row.status === "deleted" && row.name === "");
