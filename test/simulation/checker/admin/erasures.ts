import type { Row } from "../../platform/database.ts";
import { wrongHash } from "../customer-hash.ts";
import { wants } from "../events/outbox-model.ts";
import type { HomeModel, Session } from "../home-model.ts";
import type { Model } from "../model.ts";
import type { Operation, Written } from "./intents.ts";
import { becomes } from "./row-changes.ts";

/**
 * Erasing a customer: docs/operating.md, "One customer's data". A transaction that erases takes sessions with all that belongs to them
 * and nothing else, and only those of an erasure that was begun.
 */

export const ERASED_TYPE = "session.erased";

/** An erasure that was begun. */
export interface Begun {
  id: string;
  home: string;
  siteId: number;
  sbs: string;
  hash: string;
  /** The highest id of the site's sessions at that time. */
  until: number;
  /** The customer's sessions at that time. */
  chatIds: ReadonlySet<number>;
  isDone: boolean;
  /** Whether a restore of its home may have undone its row. */
  isLost: boolean;
  /** Whether a restore of its home has brought sessions back: then the counts of its end are those of the restored home. */
  isRestored: boolean;
  /** How often its end was written: a restored home may write it once more. */
  ends: number;
}

/** How many rows were erased, by what they are. */
export type Counts = Record<"sessions" | "messages" | "participants" | "events" | "deliveries", number>;

/** What an erasure has taken, of how many sessions each webhook is told, and what each has got of them. */
export interface ErasedRows {
  counts: Counts;
  told: Record<string, number>;
  got: Record<string, { delivered: number; attempted: number }>;
}

type Changes = readonly Written[];

/** A customer's sessions, the oldest first. */
export const sessionsOf = (home: HomeModel, { siteId, sbs }: { siteId: number; sbs: string }): Session[] =>
  [...home.sessions.values()]
    .filter(({ row }) => row.site_id === siteId && row.customer_external_id === sbs)
    .sort((a, b) => Number(a.row.id) - Number(b.row.id));

const goneOf = (changes: Changes, table: string): Row[] =>
  changes.flatMap((each) => (each.table === table && each.after === null && each.before !== null ? [each.before] : []));

const auditOf = (changes: Changes): Row[] =>
  changes.flatMap((each) => (each.table === "audit_log" && each.after !== null ? [each.after] : []));

/** How many rows some transactions have erased. */
export const countsOf = (changes: Changes): Counts => {
  const changed = (table: string, isErased: (before: Row, after: Row) => boolean) =>
    changes.filter((each) => each.table === table && each.before && each.after && isErased(each.before, each.after));
  return {
    sessions: goneOf(changes, "sessions").length,
    messages: goneOf(changes, "messages").length,
    participants: goneOf(changes, "participants").length,
    events: changed("events", (before, after) => before.data !== null && after.data === null).length,
    deliveries: changed("deliveries", (before, after) => before.status !== after.status && after.status === "skipped")
      .length,
  };
};

const sumOf = (one: Counts, other: Counts): Counts => ({
  sessions: one.sessions + other.sessions,
  messages: one.messages + other.messages,
  participants: one.participants + other.participants,
  events: one.events + other.events,
  deliveries: one.deliveries + other.deliveries,
});

/** The webhooks that a transaction tells. */
const toldBy = (changes: Changes): string[] =>
  changes.flatMap(({ table, before, after }) =>
    table === "deliveries" && before === null ? String(after?.webhook_id) : [],
  );

/** Whether a transaction of a call that settles a home erases, as opposed to skipping ids. */
export const isErasing = (changes: Changes): boolean =>
  changes.some(({ table }) =>
    ["customers", "sessions", "messages", "participants", "events", "deliveries"].includes(table),
  ) || auditOf(changes).some(({ action }) => action === "customer.erased");

/** The customer whose data a transaction erases; undefined when neither the intent says, nor a session, nor the audit log. */
function whose(model: Model, { intent }: Operation, changes: Changes): string | undefined {
  if (intent.kind === "eraseCustomer") return intent.sbs;
  const [session] = goneOf(changes, "sessions");
  if (session !== undefined) return String(session.customer_external_id);
  return model.erasures.get(String(auditOf(changes)[0]?.subject))?.sbs;
}

/** @returns how one transaction of an erasure is wrong, before it is applied to the model */
export function wrongErasing(model: Model, operation: Operation, changes: Changes): string | undefined {
  const [{ home: name = "" } = {}] = changes;
  const home = model.home(name);
  const audited = auditOf(changes);
  const begins = audited.find(({ action }) => action === "customer.erasure_begun");
  if (begins !== undefined)
    return changes.length === 1 ? wrongBegin(model, operation, name, begins) : "it begins with a deletion";
  const sessions = goneOf(changes, "sessions");
  const siteId = Number((sessions[0] ?? audited[0] ?? changes[0]?.before ?? changes[0]?.after)?.site_id);
  const sbs = whose(model, operation, changes);
  const strange = audited.find(({ action, site_id }) => action !== "customer.erased" || site_id !== siteId);
  if (strange !== undefined || audited.length > 1) return `the audit log says ${JSON.stringify(audited)}`;
  const all = [...model.erasures.values()].filter((each) => each.home === name && each.siteId === siteId);
  const theirs = all.filter((each) => each.sbs === sbs || audited.some(({ subject }) => subject === each.id));
  const until = Math.max(-1, ...theirs.map((each) => each.until));
  if (theirs.length === 0) return "no erasure of this customer was begun";
  const beyond = sessions.find(
    ({ id, customer_external_id }) => Number(id) > until || !theirs.some((each) => each.sbs === customer_external_id),
  );
  if (beyond !== undefined) return `session ${beyond.id} is not the erasure's`;
  const taken = new Set(sessions.map(({ id }) => Number(id)));
  const receipt = receiptsOf(model, name, siteId, taken);
  if (receipt !== undefined) return receipt;
  const events = [...home.outbox.events.values()].filter(
    (row) => row.site_id === siteId && row.session_id !== null && taken.has(Number(row.session_id)),
  );
  // A hand may have taken a session after it was found, and left its events. The erasure still names it.
  const told = changes.find(({ table, before }) => table === "events" && before === null)?.after;
  const { chat_ids: named = [] } = JSON.parse(String(told?.data ?? "{}")) as { chat_ids?: number[] };
  const left = named.filter((id) => !home.sessions.has(`${siteId}/${id}`));
  const leftEvents = [...home.outbox.events.values()].filter(
    (row) => row.site_id === siteId && left.includes(Number(row.session_id)),
  );
  for (const change of changes) {
    const wrong = wrongChange(model, change, {
      taken,
      events: [...events, ...leftEvents],
      siteId,
      sbs,
      until,
      clock: operation.call.clock,
      changes,
    });
    if (wrong !== undefined) return `${wrong}: ${JSON.stringify(change)}`;
  }
  return (
    leftBehind(model, name, siteId, taken, events, changes) ??
    wrongEnd(model, name, siteId, theirs, changes, audited[0])
  );
}

function wrongBegin(model: Model, { call, intent }: Operation, home: string, row: Row): string | undefined {
  if (intent.kind !== "eraseCustomer" || row.site_id !== intent.siteId) return "it begins another's";
  const ids = [...model.home(home).sessions.values()].filter((each) => each.row.site_id === row.site_id);
  const highest = Math.max(0, ...ids.map((each) => Number(each.row.id)));
  const { highest_chat_id, hash } = JSON.parse(String(row.details)) as { highest_chat_id: number; hash: string };
  const odd = wrongHash(model, call.settings, hash, intent.siteId, intent.sbs);
  if (odd !== undefined) return odd;
  if (highest_chat_id !== highest) return `the highest chat id is ${highest}, and it says ${highest_chat_id}`;
  const { siteId, sbs } = intent;
  const open = [...model.erasures.values()].find(
    (each) => each.home === home && each.siteId === siteId && each.sbs === sbs && !each.isDone && !each.isLost,
  );
  if (open === undefined) return undefined;
  const hasErased = (model.erasedRows.get(open.id)?.counts.sessions ?? 0) > 0;
  if (open.id !== row.subject || hasErased) return `erasure ${open.id} is under way`;
  const isNewer = sessionsOf(model.home(home), intent).some((session) => Number(session.row.id) > open.until);
  return isNewer ? undefined : `erasure ${open.id} begins anew without newer sessions`;
}

/** The receipts must name each session before it goes: in KV, and for a further home in the directory. */
function receiptsOf(model: Model, home: string, siteId: number, taken: ReadonlySet<number>): string | undefined {
  const kept = model.receipts?.(home, siteId);
  if (kept === undefined) return undefined;
  for (const id of taken) {
    if (!kept.kv.has(id)) return `no receipt in KV names session ${id}`;
    if (!kept.directory.has(id)) return `no receipt in the directory names session ${id}`;
  }
  return undefined;
}

interface Erasing {
  taken: ReadonlySet<number>;
  events: Row[];
  siteId: number;
  sbs: string | undefined;
  until: number;
  clock: number;
  changes: Changes;
}

function wrongChange(model: Model, change: Written, erasing: Erasing): string | undefined {
  const { table, before, after } = change;
  const { taken, events, siteId, sbs, clock } = erasing;
  const row = (after ?? before) as Row;
  if (row.site_id !== siteId) return "another site's";
  const isIts = (seq: unknown) => events.some((event) => event.seq === seq);
  switch (table) {
    case "audit_log":
    case "sessions":
      return after === null || table === "audit_log" ? undefined : "it only deletes";
    case "messages":
    case "participants":
      return after === null && taken.has(Number(row.session_id)) ? undefined : "it is of no erased session";
    case "customers":
      return row.external_id === sbs ? wrongCustomer(model, change, erasing) : "another customer";
    case "home_sites": {
      const floor = Number(after?.chat_id_floor);
      return taken.has(floor)
        ? becomes(change, { chat_id_floor: floor })
        : "the floor is not that of an erased session";
    }
    case "events": {
      if (before !== null) return isIts(row.seq) ? becomes(change, { data: null }) : "another session's event";
      const data = JSON.parse(String(row.data)) as { chat_ids?: number[]; seq?: number };
      const named = new Set(data.chat_ids);
      // Retention may have taken sessions of the customer after they were found.
      const isGone = (id: number) => !model.home(change.home).sessions.has(`${siteId}/${id}`);
      const names = [...taken].every((id) => named.has(id)) && [...named].every((id) => taken.has(id) || isGone(id));
      return names && row.type === ERASED_TYPE && data.seq === row.seq
        ? undefined
        : "it does not tell of these sessions";
    }
    case "deliveries": {
      if (before === null) {
        const told = erasing.changes.find((each) => each.table === "events" && each.before === null)?.after;
        return told?.seq === row.seq && row.next_attempt_at === clock ? undefined : "it is not of what is told";
      }
      if (isPruned(model.home(change.home), row)) return becomes(change, { last_error: null });
      if (!isIts(row.seq)) return "another session's delivery";
      const isEnded = before.status === "pending" || before.status === "failed";
      const status = isEnded ? "skipped" : (before.status ?? "");
      return becomes(change, { status, last_error: null, next_attempt_at: null, claim: null });
    }
    default:
      return "not a place of a customer's data";
  }
}

function wrongCustomer(model: Model, change: Written, { taken, siteId, sbs }: Erasing): string | undefined {
  const left = [...model.home(change.home).sessions.values()]
    .map((each) => each.row)
    .filter((row) => row.site_id === siteId && row.customer_external_id === sbs && !taken.has(Number(row.id)))
    .sort((a, b) => Number(a.id) - Number(b.id));
  if (change.after === null) return left.length === 0 ? undefined : "sessions of the customer are left";
  return left[0] === undefined ? "no session is left" : becomes(change, { created_at: left[0].created_at ?? 0 });
}

/** Whether the event of a delivery was pruned: then nobody knows whose it was. */
const isPruned = ({ outbox }: HomeModel, delivery: Row): boolean =>
  outbox.eventOf(delivery) === undefined && Number(delivery.seq) < outbox.newestSeq(Number(delivery.site_id));

/** What a transaction leaves of the sessions that it takes. */
function leftBehind(
  model: Model,
  name: string,
  siteId: number,
  taken: ReadonlySet<number>,
  events: Row[],
  changes: Changes,
): string | undefined {
  const home = model.home(name);
  if (taken.size === 0) return undefined;
  const whole = (session: Session | undefined) => (session?.messages.length ?? 0) + (session?.participants.size ?? 0);
  const parts = [...taken].reduce((sum, id) => sum + whole(home.sessions.get(`${siteId}/${id}`)), 0);
  const gone = goneOf(changes, "messages").length + goneOf(changes, "participants").length;
  if (parts !== gone) return `${parts - gone} messages and participants are left`;
  const erased = (seq: unknown) => changes.some((each) => each.table === "events" && each.after?.seq === seq);
  const kept = events.find((event) => event.data !== null && !erased(event.seq));
  if (kept !== undefined) return `the data of event ${kept.seq} is left`;
  const changed = (row: Row) =>
    changes.some(
      (each) => each.table === "deliveries" && each.after?.seq === row.seq && each.after?.webhook_id === row.webhook_id,
    );
  const seqs = new Set(events.map(({ seq }) => seq));
  const told = [...home.outbox.deliveries.values()].find(
    (row) =>
      row.site_id === siteId &&
      seqs.has(row.seq ?? null) &&
      (row.status === "pending" || row.status === "failed" || row.last_error !== null) &&
      !changed(row),
  );
  if (told !== undefined) return `a delivery is left: ${JSON.stringify(told)}`;
  const floor = changes.find((each) => each.table === "home_sites")?.after?.chat_id_floor;
  const others = [...home.sessions.values()].filter(({ row }) => row.site_id === siteId && !taken.has(Number(row.id)));
  const highest = Math.max(
    0,
    ...others.map(({ row }) => Number(row.id)),
    Number(floor ?? home.sites.get(siteId)?.floor),
  );
  if (highest < Math.max(...taken)) return `an id up to ${Math.max(...taken)} may be given again`;
  return untold(model, name, siteId, changes);
}

function untold(model: Model, name: string, siteId: number, changes: Changes): string | undefined {
  const { sites, outbox } = model.home(name);
  if (sites.get(siteId)?.row.events !== 1) return undefined;
  const event = changes.find((each) => each.table === "events" && each.before === null)?.after;
  if (event === undefined) return "nobody is told";
  for (const webhook of outbox.webhooksOf(siteId).filter((each) => wants(each, ERASED_TYPE))) {
    if (!toldBy(changes).includes(String(webhook.id))) return `webhook ${webhook.id} is not told`;
  }
  return undefined;
}

/** The end of an erasure: its audit row, and nothing of the customer up to its highest id. */
function wrongEnd(
  model: Model,
  name: string,
  siteId: number,
  theirs: readonly Begun[],
  changes: Changes,
  row: Row | undefined,
): string | undefined {
  const isGone = changes.some((each) => each.table === "customers" && each.after === null);
  if (row === undefined) return isGone ? "the customer goes and the audit log does not say it" : undefined;
  const erasure = theirs.find(({ id }) => id === row.subject);
  if (erasure === undefined) return `no erasure ${row.subject} was begun`;
  const gone = new Set(goneOf(changes, "sessions").map(({ id }) => id));
  // Where KV has lost the receipt and a restore has taken it from the directory, nobody knows up to which session it went.
  const isUnknown = model.mayKvLose && erasure.isRestored;
  const left = [...model.home(name).sessions.values()].find(
    (each) =>
      each.row.site_id === siteId &&
      each.row.customer_external_id === erasure.sbs &&
      Number(each.row.id) <= erasure.until &&
      !isUnknown &&
      !gone.has(each.row.id ?? null),
  );
  if (left !== undefined) return `session ${left.row.id} is left`;
  const words = [...model.home(name).outbox.deliveries.values()].find(
    (each) =>
      each.site_id === siteId &&
      each.last_error !== null &&
      isPruned(model.home(name), each) &&
      !changes.some(({ table, after }) => table === "deliveries" && after?.seq === each.seq),
  );
  if (words !== undefined) return `a receiver's words of a pruned event are left: ${JSON.stringify(words)}`;
  const { hash, ...said } = JSON.parse(String(row.details)) as Counts & { hash: string };
  if (hash !== erasure.hash) return `the erasure was begun with the hash ${erasure.hash}`;
  const counts = sumOf((model.erasedRows.get(erasure.id) ?? nothing()).counts, countsOf(changes));
  const isWhole = Object.entries(counts).every(([what, count]) => said[what as keyof Counts] === count);
  return isWhole || erasure.isRestored ? undefined : `it says ${row.details}, and ${JSON.stringify(counts)} went`;
}

const nothing = (): ErasedRows => ({ counts: countsOf([]), told: {}, got: {} });

/** Adds up what each webhook has got of some sessions, or may have got, before they go. */
function noteGot(got: ErasedRows["got"], { outbox }: HomeModel, sessions: readonly Row[]): void {
  const taken = new Set(sessions.map(({ site_id, id }) => `${site_id}/${id}`));
  for (const delivery of outbox.deliveries.values()) {
    const event = outbox.eventOf(delivery);
    if (event === undefined || !taken.has(`${event.site_id}/${event.session_id}`)) continue;
    const before = got[String(delivery.webhook_id)] ?? { delivered: 0, attempted: 0 };
    const isDelivered = delivery.status === "delivered";
    const isAttempted = !isDelivered && delivery.last_attempt_at !== null;
    got[String(delivery.webhook_id)] = {
      delivered: before.delivered + Number(isDelivered),
      attempted: before.attempted + Number(isAttempted),
    };
  }
}

/** Notes a transaction that was right, after it was checked. */
export function noteErasing(model: Model, operation: Operation, changes: Changes): void {
  const [{ home = "" } = {}] = changes;
  const { intent } = operation;
  for (const row of auditOf(changes)) {
    const id = String(row.subject);
    if (row.action === "customer.erasure_begun" && intent.kind === "eraseCustomer") {
      const { highest_chat_id: until, hash } = JSON.parse(String(row.details)) as {
        highest_chat_id: number;
        hash: string;
      };
      const { siteId, sbs } = intent;
      const chatIds = new Set(sessionsOf(model.home(home), intent).map((session) => Number(session.row.id)));
      const { isRestored, ends } = model.erasures.get(id) ?? { isRestored: false, ends: 0 };
      const begun = { id, home, siteId, sbs, hash, until, chatIds };
      model.erasures.set(id, { ...begun, isDone: false, isLost: false, isRestored, ends });
    }
  }
  const sessions = goneOf(changes, "sessions");
  for (const { site_id, id } of sessions) model.erasedSessions.add(`${home}/${site_id}/${id}`);
  for (const message of goneOf(changes, "messages")) model.erasedTexts.add(String(message.content));
  const sbs = whose(model, operation, changes);
  const open = [...model.erasures.values()].filter(
    (each) =>
      each.home === home &&
      each.sbs === sbs &&
      !each.isDone &&
      sessions.every(({ site_id }) => site_id === each.siteId),
  );
  for (const { id } of open) {
    const { told, got, counts } = model.erasedRows.get(id) ?? nothing();
    for (const webhook of toldBy(changes)) told[webhook] = (told[webhook] ?? 0) + sessions.length;
    noteGot(got, model.home(home), sessions);
    model.erasedRows.set(id, { counts: sumOf(counts, countsOf(changes)), told, got });
  }
  for (const row of auditOf(changes)) {
    const erasure = model.erasures.get(String(row.subject));
    if (row.action !== "customer.erased" || erasure === undefined) continue;
    erasure.isDone = true;
    erasure.isLost = false;
    erasure.ends++;
  }
}
