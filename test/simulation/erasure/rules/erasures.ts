import type { Model } from "../../checker/model.ts";
import type { Operation } from "../../operators/rules/intents.ts";
import type { Row } from "../../platform/database.ts";
import { eventBy, findLeftover, goneOf, sessionsAt, sessionsOf, type WrittenRows, wrongChange } from "./erased-rows.ts";

/**
 * Erasing a customer: docs/operating/data-and-restore.md, "One customer's data". An erasing transaction deletes sessions of a begun
 * erasure with all that belongs to them, and nothing else.
 */

export interface BegunErasure {
  id: string;
  home: string;
  siteId: number;
  sbs: string;
  /** The highest id of the site's sessions when it began. */
  until: number;
  /**
   * The customer's sessions when it began, without those that were deleted in another way before a receipt named them.
   */
  chatIds: Set<number>;
  /** How many sessions it has deleted. */
  count: number;
  /** The sessions that its events for receivers have named. */
  inEvents: Set<number>;
  isDone: boolean;
  /** Whether a restore of its home may have undone its row. */
  isLost: boolean;
  /** Whether a restore has brought sessions back. Then the number in its audit row counts from the restored home. */
  isRestored: boolean;
  /** How often its end was written. A restored home may write it again. */
  ends: number;
}

const auditOf = (changes: WrittenRows): Row[] =>
  changes.flatMap((each) => (each.table === "audit_log" && each.after !== null ? [each.after] : []));

/** Whether a transaction of a settling erases. Other transactions of a settling skip ids. */
export const isErasing = (changes: WrittenRows): boolean =>
  changes.some(({ table }) =>
    ["customers", "sessions", "messages", "participants", "events", "deliveries"].includes(table),
  ) || auditOf(changes).some(({ action }) => action === "customer.erased");

/** The customer whose data a transaction erases, by the intent, a session or the audit log. */
function erasureOf(model: Model, { intent }: Operation, changes: WrittenRows): string | undefined {
  if (intent.kind === "eraseCustomer") return intent.sbs;
  const [session] = goneOf(changes, "sessions");
  if (session !== undefined) return String(session.customer_external_id);
  return model.erasures.get(String(auditOf(changes)[0]?.subject))?.sbs;
}

/** @returns why a transaction of an erasure is wrong. The model has not applied it yet */
export function wrongErasing(model: Model, operation: Operation, changes: WrittenRows): string | undefined {
  const [{ home: name = "" } = {}] = changes;
  const auditRows = auditOf(changes);
  const begins = auditRows.find(({ action }) => action === "customer.erasure_begun");
  if (begins !== undefined)
    return changes.length === 1
      ? wrongBegin(model, operation, name, begins)
      : "it begins and deletes in one transaction";
  const sessions = goneOf(changes, "sessions");
  const siteId = Number((sessions[0] ?? auditRows[0] ?? changes[0]?.before ?? changes[0]?.after)?.site_id);
  const sbs = erasureOf(model, operation, changes);
  const strangeRow = auditRows.find(({ action, site_id }) => action !== "customer.erased" || site_id !== siteId);
  if (strangeRow !== undefined || auditRows.length > 1) return `the audit log says ${JSON.stringify(auditRows)}`;
  const all = [...model.erasures.values()].filter((each) => each.home === name && each.siteId === siteId);
  const erasures = all.filter((each) => each.sbs === sbs || auditRows.some(({ subject }) => subject === each.id));
  if (erasures.length === 0) return "no erasure of this customer was begun";
  const until = Math.max(-1, ...erasures.map((each) => each.until));
  const isTheirs = (row: Row) =>
    Number(row.id) <= until && erasures.some((each) => each.sbs === row.customer_external_id);
  const beyond = sessions.find((row) => !isTheirs(row));
  if (beyond !== undefined) return `session ${beyond.id} is not the erasure's`;
  const ids = new Set(sessions.map(({ id }) => Number(id)));
  const eventChatIds = eventBy(changes).chatIds;
  const repeatedId = eventChatIds.find((id) => erasures.some((each) => each.inEvents.has(id) && !each.isRestored));
  if (repeatedId !== undefined) return `receivers are told again of session ${repeatedId}`;
  return (
    unlistedChatId(model, name, siteId, ids) ??
    wrongChange(model.home(name), changes, { siteId, sbs, ids, eventChatIds }) ??
    findLeftover(model.home(name), changes, { siteId, sbs, ids, eventChatIds }) ??
    wrongEnd(model, erasures, changes, auditRows[0])
  );
}

function wrongBegin(model: Model, { intent }: Operation, home: string, row: Row): string | undefined {
  if (intent.kind !== "eraseCustomer" || row.site_id !== intent.siteId)
    return "it begins the erasure of another customer";
  const highest = Math.max(0, ...sessionsAt(model.home(home), intent.siteId).map((each) => Number(each.row.id)));
  const { highest_chat_id } = JSON.parse(String(row.details)) as { highest_chat_id: number };
  if (highest_chat_id !== highest) return `the highest chat id is ${highest}, and it says ${highest_chat_id}`;
  const { siteId, sbs } = intent;
  const open = [...model.erasures.values()].find(
    (each) => each.home === home && each.siteId === siteId && each.sbs === sbs && !each.isDone && !each.isLost,
  );
  if (open === undefined) return undefined;
  if (open.id !== row.subject || open.count > 0) return `erasure ${open.id} is under way`;
  const isNewer = sessionsOf(model.home(home), intent).some((session) => Number(session.row.id) > open.until);
  return isNewer ? undefined : `erasure ${open.id} begins anew without newer sessions`;
}

/** Which deleted session the receipts in KV or in the directory did not name before. */
function unlistedChatId(model: Model, home: string, siteId: number, ids: ReadonlySet<number>): string | undefined {
  const keptReceipt = model.receipts?.(home, siteId);
  if (keptReceipt === undefined) return undefined;
  for (const id of ids) {
    if (!keptReceipt.kv.has(id)) return `no receipt in KV names session ${id}`;
    if (!keptReceipt.directory.has(id)) return `no receipt in the directory names session ${id}`;
  }
  return undefined;
}

/**
 * Checks the end of an erasure: it writes an audit row, and no session of the customer up to its highest id is left.
 */
function wrongEnd(
  model: Model,
  erasures: readonly BegunErasure[],
  changes: WrittenRows,
  row: Row | undefined,
): string | undefined {
  const isGone = changes.some((each) => each.table === "customers" && each.after === null);
  if (row === undefined) return isGone ? "the customer is deleted without a row in the audit log" : undefined;
  const erasure = erasures.find(({ id }) => id === row.subject);
  if (erasure === undefined) return `no erasure ${row.subject} was begun`;
  const home = model.home(erasure.home);
  const ids = new Set(goneOf(changes, "sessions").map(({ id }) => id));
  // A restore may have undone the erasure or its later restart, and KV may have lost its receipt.
  const knownErasure = erasure.isRestored ? model.knownUntil(erasure.home, erasure.siteId, erasure.id) : erasure.until;
  const isLeft = (each: Row) => Number(each.id) <= Math.min(knownErasure, erasure.until) && !ids.has(each.id ?? null);
  const sessionsLeft = sessionsOf(home, erasure).find((each) => isLeft(each.row));
  if (sessionsLeft !== undefined) return `session ${sessionsLeft.row.id} is left`;
  const { sessions } = JSON.parse(String(row.details)) as { sessions: number };
  const erasedSoFar = erasure.count + ids.size;
  return erasedSoFar === sessions || erasure.isRestored
    ? undefined
    : `it says ${sessions} sessions, and ${erasedSoFar} went`;
}

/** Notes a transaction of an erasure after it was checked. */
export function noteErasing(model: Model, operation: Operation, changes: WrittenRows): void {
  const [{ home = "" } = {}] = changes;
  const { intent } = operation;
  for (const row of auditOf(changes)) {
    const id = String(row.subject);
    if (row.action !== "customer.erasure_begun" || intent.kind !== "eraseCustomer") continue;
    const { highest_chat_id: until } = JSON.parse(String(row.details)) as { highest_chat_id: number };
    const { siteId, sbs } = intent;
    const chatIds = new Set(sessionsOf(model.home(home), intent).map((session) => Number(session.row.id)));
    const { isRestored = false, ends = 0, count = 0, inEvents = new Set<number>() } = model.erasures.get(id) ?? {};
    const fields = { id, home, siteId, sbs, until, chatIds, count, inEvents };
    model.erasures.set(id, { ...fields, isDone: false, isLost: false, isRestored, ends });
  }
  const sessions = goneOf(changes, "sessions");
  model.noteGone(home, changes);
  const sbs = erasureOf(model, operation, changes);
  for (const erasure of model.erasures.values()) {
    const isOfCustomer = erasure.home === home && erasure.sbs === sbs && !erasure.isDone;
    if (!isOfCustomer || sessions.some(({ site_id }) => site_id !== erasure.siteId)) continue;
    erasure.count += sessions.length;
    for (const id of eventBy(changes).chatIds) erasure.inEvents.add(id);
  }
  for (const row of auditOf(changes)) {
    const erasure = model.erasures.get(String(row.subject));
    if (row.action !== "customer.erased" || erasure === undefined) continue;
    erasure.isDone = true;
    erasure.isLost = false;
    erasure.ends++;
  }
}

/** Notes a session that is deleted for its age or with SQL. No erasure lists it then, unless a receipt names it. */
export function noteTaken(model: Model, home: string, { site_id, id }: Row): void {
  for (const { siteId, isDone, chatIds, ...erasure } of model.erasures.values()) {
    if (erasure.home !== home || siteId !== site_id || isDone) continue;
    if (!model.receipts?.(home, siteId).kv.has(Number(id))) chatIds.delete(Number(id));
  }
}
