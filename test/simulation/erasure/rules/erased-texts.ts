import type { Model } from "../../checker/model.ts";
import type { Row } from "../../platform/database.ts";
import type { KvTruth } from "../../platform/kv.ts";
import type { Home } from "../../world/cloud/home.ts";
import { sessionsOf } from "./erased-rows.ts";

/**
 * An erased customer and a site that has ended must be in no table of a home that is not under restore. An erased
 * customer must not be in KV either. Free pages of a file are not searched, because the platform lets nobody overwrite
 * them.
 */

interface TextPlaces {
  homes: Iterable<Home>;
  kv: readonly KvTruth[];
  /** Homes that are under restore, or whose receipts were lost. */
  except: ReadonlySet<string>;
}

/** The tables that keep rows of an ended site for ever: docs/operating/data-and-restore.md, "Deleting a site". */
const KEPT_TABLES = ["audit_log", "site_deletions"];

/** A text as it stands within JSON. */
const asJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** @returns which erased session of a home is back after its erasure has ended */
export function backAgain(model: Model, home: string): string | undefined {
  for (const { id, siteId, sbs, chatIds, ends, ...erasure } of model.erasures.values()) {
    if (ends === 0 || erasure.home !== home || model.ends.has(`${home}/${siteId}`)) continue;
    // Sessions that a restore had undone before the erasure may come back by another restore: no receipt names them.
    const back = sessionsOf(model.home(home), { siteId, sbs }).find(({ row }) => chatIds.has(Number(row.id)));
    if (back !== undefined) return `session ${back.row.id} of site ${siteId} in ${home} is back after erasure ${id}`;
  }
  return undefined;
}

/** @returns which erased customer is found, and where */
export function findErasedText(model: Model, { homes, kv, except }: TextPlaces): string | undefined {
  for (const home of model.homes.keys()) {
    const back = except.has(home) ? undefined : backAgain(model, home);
    if (back !== undefined) return back;
  }
  const texts = new Set(model.erasedTexts);
  // A caller may have given an erased order again. That session may be deleted with SQL, which leaves its event.
  for (const [home, { sessions, outbox }] of model.homes) {
    const contents = [...sessions.values()].flatMap(({ messages }) => messages.map(({ content }) => String(content)));
    for (const text of texts) if (contents.some((each) => each.includes(text))) texts.delete(text);
    for (const { site_id, session_id, data } of outbox.events.values()) {
      if (data === null || model.erasedSessions.has(`${home}/${site_id}/${session_id}`)) continue;
      for (const text of texts) if (String(data).includes(asJson(text))) texts.delete(text);
    }
  }
  const search = (where: string, content: string) => {
    for (const text of texts) if (content.includes(asJson(text))) return `${text} is in ${where}`;
    return undefined;
  };
  for (const { name, database } of homes) {
    if (except.has(name)) continue;
    const erasure = database.rows("erasures").find((row) => (row.done_at === null) === (row.external_id === null));
    if (erasure !== undefined)
      return `an erasure of ${name} names the customer only while it is under way: ${JSON.stringify(erasure)}`;
    for (const table of database.tables()) {
      const rowTexts = database.rows(table).map((row) => Object.values(row).join("\n"));
      const what = search(`${table} of ${name}`, rowTexts.join("\n"));
      if (what !== undefined) return what;
    }
  }
  for (const truth of kv) {
    for (const [key, { value, metadata }] of truth) {
      const what = search(`KV ${key}`, `${key}\n${value}\n${metadata}`);
      if (what !== undefined) return what;
    }
  }
  return undefined;
}

/** @returns which ended site is found, and where */
export function findEndedSite(model: Model, { homes, except }: Omit<TextPlaces, "kv">): string | undefined {
  const all = [...homes];
  for (const [name, { id, isAnswered }] of model.ends) {
    const [home = "", site] = name.split("/");
    const siteId = Number(site);
    if (!isAnswered || except.has(home) || except.has("main")) continue;
    const { deletions, sites } = model.home(home);
    const row = deletions.get(siteId);
    // Without KV, a restore of `main` may lose the key of the hash in a receipt. Then a home without the site ignores
    // its end.
    const mayBeUnknown = !model.isKvBound && row === undefined && !sites.has(siteId);
    if (row?.id !== id && !mayBeUnknown) return `${home} does not know that site ${siteId} has ended by ${id}`;
    // A home that is closed at the end of the run has not deleted its rows.
    if (row?.done_at === null) continue;
    for (const { name: at, database } of all) {
      for (const table of database.tables().filter((each) => !KEPT_TABLES.includes(each))) {
        const rowLeft = database.rows(table).find((each) => isOf(table, each, siteId) && !isKept(table, each));
        if (rowLeft !== undefined) return `site ${siteId} is in ${table} of ${at}: ${JSON.stringify(rowLeft)}`;
      }
    }
  }
  return undefined;
}

const isOf = (table: string, row: Row, siteId: number): boolean =>
  (table === "sites" ? row.id : row.site_id) === siteId;

/** Whether the directory keeps a row until the site's appids are free again. */
const isKept = (table: string, row: Row): boolean =>
  table === "app_routes" || (table === "sites" && row.status === "deleted" && row.name === "");
