import type { HomeModel, Session } from "../../checker/home-model.ts";
import { wrongRow } from "../../checker/row-changes.ts";
import type { BrokenRule } from "../../checker/violate.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { goneOf, partsLeft, sessionsAt } from "./erased-rows.ts";
import { keptUntil } from "./pruning.ts";

/** How the sessions of a site are deleted when they are too old, or when the site ends: docs/operating/data-and-restore.md, "How long sessions are kept". */

/** In the simulation a day of retention lasts this many seconds: bundle.ts. */
const RETENTION_DAY = 5;

/** Whether a session or an event is older than its site keeps sessions. */
export const isOld = (home: HomeModel, { site_id, created_at }: Row, clock: number): boolean => {
  const days = home.sites.get(Number(site_id))?.row.retention_days ?? null;
  return days !== null && Number(created_at) <= clock - Number(days) * RETENTION_DAY;
};

/** Whether a home deletes all rows of a site, because the directory and KV know of the site's end. */
export const isEnding = (home: HomeModel, siteId: number): boolean => {
  const row = home.deletions.get(siteId);
  return row !== undefined && row.home === home.name && row.kept_at !== null;
};

/** Checks the deletion of a site's oldest sessions. */
export function wrongSessions(home: HomeModel, siteId: number, call: Call, changes: readonly RowChange[]): BrokenRule {
  const rows = goneOf(changes, "sessions");
  const ids = new Set(rows.map(({ id }) => Number(id)));
  const sessionsLeft = sessionsAt(home, siteId).filter(({ row }) => !ids.has(Number(row.id)));
  if (!isEnding(home, siteId)) {
    const days = home.sites.get(siteId)?.row.retention_days ?? null;
    if (days === null) return ["a site that keeps its sessions for ever loses none", `site ${siteId}: ${[...ids]}`];
    const young = rows.find((row) => !isOld(home, row, call.clock));
    if (young !== undefined) return ["no session is deleted while its site keeps it", JSON.stringify(young)];
  }
  return (
    wrongParts(home, siteId, ids, changes) ??
    wrongCustomers(sessionsLeft, rows, changes) ??
    wrongFloors(home, siteId, sessionsLeft, ids, changes)
  );
}

/** Whether a transaction deletes only events without data, whose sessions were erased after the cron job found them. */
export function isLeftOfErased(home: HomeModel, call: Call, changes: readonly RowChange[]): boolean {
  const events = goneOf(changes, "events");
  const isKept = (row: Row) => keptUntil(row, call.settings) > call.clock;
  const isPart = ({ table, after }: RowChange) =>
    (["events", "deliveries"].includes(table) && after === null) || (table === "home_sites" && after !== null);
  return (
    events.some(isKept) &&
    events.every((row) => row.data === null && isOld(home, row, call.clock)) &&
    changes.every(isPart)
  );
}

export function wrongLeftOfErased(home: HomeModel, siteId: number, changes: readonly RowChange[]): BrokenRule {
  const sessionsLeft = sessionsAt(home, siteId);
  return wrongParts(home, siteId, new Set(), changes) ?? wrongFloors(home, siteId, sessionsLeft, new Set(), changes);
}

/** Checks the deleted messages, participants, events and deliveries. */
function wrongParts(
  home: HomeModel,
  siteId: number,
  ids: ReadonlySet<number>,
  changes: readonly RowChange[],
): BrokenRule {
  const rule = "a session is deleted with all that belongs to it, and nothing else is deleted";
  const parts = [...goneOf(changes, "messages"), ...goneOf(changes, "participants")];
  const strangeRow = parts.find(({ session_id }) => !ids.has(Number(session_id)));
  if (strangeRow !== undefined) return [rule, `a part of another session goes: ${JSON.stringify(strangeRow)}`];
  const restCount = partsLeft(home, changes, { siteId, ids });
  if (restCount !== 0) return [rule, `${restCount} messages and participants stay`];
  const { outbox } = home;
  const isOfSession = ({ site_id, session_id }: Row) => site_id === siteId && ids.has(Number(session_id));
  const seqs = new Set([...outbox.events.values()].filter(isOfSession).map(({ seq }) => seq));
  const events = goneOf(changes, "events");
  // An erasure may have deleted a session after it was found to be old. Its events without data may be deleted too.
  for (const { seq, data } of events) if (data === null) seqs.add(seq);
  if (events.length !== seqs.size || !events.every(({ seq }) => seqs.has(seq))) {
    return [rule, `the events ${events.map(({ seq }) => seq)} go, its are ${[...seqs]}`];
  }
  const dueRows = [...outbox.deliveries.values()].filter(({ site_id, seq }) => site_id === siteId && seqs.has(seq));
  const deliveries = goneOf(changes, "deliveries");
  if (deliveries.length !== dueRows.length || !deliveries.every(({ seq }) => seqs.has(seq))) {
    return [rule, `${deliveries.length} of ${dueRows.length} deliveries go`];
  }
  const places = ["sessions", "messages", "participants", "events", "deliveries", "customers"];
  const isOther = ({ table, after }: RowChange) => !places.includes(table) || after !== null;
  const other = changes.find((change) => change.table !== "home_sites" && isOther(change));
  return other && [rule, JSON.stringify(other)];
}

function wrongCustomers(rest: readonly Session[], rows: readonly Row[], changes: readonly RowChange[]): BrokenRule {
  const rule = "a customer is deleted with the customer's last session";
  const back = new Set(rest.map(({ row }) => row.customer_external_id));
  const customers = goneOf(changes, "customers").map(({ external_id }) => external_id);
  const early = customers.find((each) => back.has(each));
  if (early !== undefined) return [rule, `${early} has more sessions`];
  const isMissed = (each: Row[string] = null) => !back.has(each) && !customers.includes(each);
  const without = rows.find((row) => isMissed(row.customer_external_id));
  return without && [rule, `${without.customer_external_id} has none and stays`];
}

function wrongFloors(
  home: HomeModel,
  siteId: number,
  rest: readonly Session[],
  ids: ReadonlySet<number>,
  changes: readonly RowChange[],
): BrokenRule {
  const rule = "no chat id and no seq is given again after the newest session is deleted";
  let row = home.sites.get(siteId)?.row;
  for (const change of changes) {
    if (change.table !== "home_sites" || change.after === null) continue;
    const { chat_id_floor = 0, event_seq_floor = 0 } = change.after;
    const wrong = wrongRow(change, { chat_id_floor, event_seq_floor });
    if (wrong !== undefined) return [rule, wrong];
    const { chat_id_floor: chatId, event_seq_floor: seq } = change.before ?? {};
    const isLower = Number(chat_id_floor) < Number(chatId) || Number(event_seq_floor) < Number(seq);
    if (isLower) return [rule, `a floor is lower: ${JSON.stringify(change)}`];
    row = change.after;
  }
  const highest = Math.max(...ids);
  const isNewest = rest.every((each) => Number(each.row.id) < highest);
  if (isNewest && Number(row?.chat_id_floor) < highest) return [rule, `${highest} is above ${row?.chat_id_floor}`];
  const seq = Math.max(0, ...goneOf(changes, "events").map((each) => Number(each.seq)));
  const isLast = seq > 0 && seq === home.outbox.newestSeq(siteId);
  return isLast && Number(row?.event_seq_floor) < seq ? [rule, `${seq} is above ${row?.event_seq_floor}`] : undefined;
}
