import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { keptUntil } from "../events/retention.ts";
import type { HomeModel, Session } from "../home-model.ts";
import { hasEnded, type Model } from "../model.ts";
import type { Violate } from "../violate.ts";
import { becomes, misses } from "./row-changes.ts";
import { RETENTION_DAY, remainingOf } from "./site-reads.ts";

/**
 * What the cron job deletes of sites: sessions that are older than their site keeps them, and sites that end: docs/operating.md,
 * "Retention" and "Deleting a site".
 */

type Broken = [rule: string, what: string] | undefined;

/** Tables of which the cron job removes rows for these reasons only. */
const OURS = [
  "home_sites",
  "apps",
  "agents",
  "customers",
  "sessions",
  "participants",
  "messages",
  "site_deletions",
  "sites",
  "app_routes",
];

/** How long the appids of a site that ended are kept. */
const APPIDS_KEPT_SECONDS = 31 * 86_400;

const goneOf = (changes: readonly Change[], table: string): Row[] =>
  changes.flatMap((each) => (each.table === table && each.after === null && each.before !== null ? [each.before] : []));

const rowOf = ({ before, after }: Change): Row => (after ?? before) as Row;

export class Removals {
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #count: (what: string) => void;
  /** The last run. */
  #last: Call | undefined;

  /** @param count counts what goes, for the report */
  constructor(model: Model, violate: Violate, count: (what: string) => void) {
    this.#model = model;
    this.#violate = violate;
    this.#count = count;
  }

  arrives(call: Call): void {
    this.#last = call;
  }

  /**
   * Judges a transaction of the cron job as a whole, before the model has it.
   *
   * @returns whether it is about old sessions or about a site that ends; other rules judge the others
   */
  checkWritten(name: string, call: Call, changes: readonly Change[]): boolean {
    const home = this.#model.home(name);
    // Expired rows of several sites go at once.
    const siteId = rowOf(changes[0] as Change).site_id;
    const isOfEnd = (change: Change) =>
      change.after === null && rowOf(change).site_id === siteId && isEnding(home, Number(siteId));
    const isOurs = changes.some(({ table }) => OURS.includes(table)) || changes.every(isOfEnd);
    if (!isOurs && !isLeftOfErased(home, call, changes)) return false;
    const broken = this.#wrong(home, call, changes);
    if (broken !== undefined) this.#violate(broken[0], `${call.name} at ${name}: ${broken[1]}`, [call.name]);
    const sessions = goneOf(changes, "sessions");
    for (const { site_id, id } of sessions) this.#model.erasedSessions.add(`${name}/${site_id}/${id}`);
    for (const { content } of goneOf(changes, "messages")) this.#model.erasedTexts.add(String(content));
    const [first] = sessions;
    if (first !== undefined) {
      this.#count(isEnding(home, Number(first.site_id)) ? "sessions go with their site" : "old sessions go");
    }
    return true;
  }

  #wrong(home: HomeModel, call: Call, changes: readonly Change[]): Broken {
    if (call.settings.closedHomes.includes(home.name)) return ["a closed home is not written to", ""];
    const has = (table: string) => changes.some((each) => each.table === table);
    if (has("sites") || has("site_deletions") || has("app_routes")) return this.#wrongDirectory(home, call, changes);
    const siteId = Number(rowOf(changes[0] as Change).site_id);
    const another = changes.find((each) => rowOf(each).site_id !== siteId);
    if (another !== undefined) {
      return ["a site loses rows alone", `site ${siteId} and ${JSON.stringify(rowOf(another))}`];
    }
    if (goneOf(changes, "home_sites").length > 0) return wrongLast(home, siteId, call, changes);
    if (has("sessions")) return wrongSessions(home, siteId, call, changes);
    if (isLeftOfErased(home, call, changes)) return wrongLeftOfErased(home, siteId, changes);
    const kept = changes.find(({ after }) => after !== null);
    if (!isEnding(home, siteId) || kept !== undefined) {
      return [
        "only a site whose end is known elsewhere loses its rows",
        `${siteId}: ${JSON.stringify(kept ?? changes[0])}`,
      ];
    }
    return undefined;
  }

  /** The directory, or the site's home, notes that nothing is left, or frees what was kept for long. */
  #wrongDirectory(home: HomeModel, call: Call, changes: readonly Change[]): Broken {
    const rule = "a site has ended when nothing is left of it, and then the directory knows";
    const freed = changes.find(({ table, after }) => after === null && (table === "sites" || table === "app_routes"));
    if (freed !== undefined) {
      const siteId = Number(freed.table === "sites" ? freed.before?.id : freed.before?.site_id);
      const doneAt = home.deletions.get(siteId)?.done_at ?? null;
      const isOver = doneAt !== null && Number(doneAt) + APPIDS_KEPT_SECONDS <= call.clock;
      return isOver
        ? undefined
        : ["an appid stays taken for 31 days after its site has ended", JSON.stringify(freed.before)];
    }
    if (changes.some(isKeeping)) return wrongStop(this.#model, home, changes);
    for (const change of changes) {
      const row = rowOf(change);
      const siteId = Number(change.table === "sites" ? row.id : row.site_id);
      const at = this.#model.directory.get(siteId)?.home ?? String(row.home);
      const left = Object.entries(remainingOf(this.#model.home(at), siteId)).find(([, count]) => count > 0);
      if (this.#model.home(at).sites.has(siteId)) return [rule, `${at} has site ${siteId}`];
      if (left !== undefined) return [rule, `${at} has ${left[1]} ${left[0]} of site ${siteId}`];
      const done_at = change.after?.done_at ?? 0;
      const wrong =
        change.table === "sites"
          ? becomes(change, { status: "deleted", name: "" })
          : change.table === "admin_tokens"
            ? becomes(change, { deleted_at: call.clock })
            : change.table === "site_deletions"
              ? misses(change.after, { ...change.before, done_at })
              : "not a place of its end";
      if (wrong !== undefined) return [rule, `${wrong}: ${JSON.stringify(change)}`];
      const isUntold = home.name !== "main" && this.#model.directory.get(siteId)?.status !== "deleted";
      if (isUntold && this.#model.directory.has(siteId)) return [rule, `the directory does not know of ${siteId}`];
    }
    return undefined;
  }

  /** The last run of the cron job. */
  get last(): Call | undefined {
    return this.#last;
  }

  /** The end of the run, when the cron job has run several times without a fault. */
  isPruned(underRestore: ReadonlySet<string>): void {
    const { settings, clock } = this.#last ?? {};
    if (settings === undefined || clock === undefined) return;
    const isServed = (home: string) => !settings.closedHomes.includes(home) && !underRestore.has(home);
    for (const home of this.#model.homes.values()) {
      if (!isServed(home.name)) continue;
      const old = [...home.sessions.values()].find(({ row }) => {
        const days = home.sites.get(Number(row.site_id))?.row.retention_days ?? null;
        return days !== null && Number(row.created_at) <= clock - Number(days) * RETENTION_DAY;
      });
      if (old !== undefined) {
        this.#violate("no session stays longer than its site keeps it", `${home.name}: ${JSON.stringify(old.row)}`, []);
      }
      if (!isServed("main")) continue;
      const under = [...home.deletions.values()].find(
        (row) => row.home === home.name && row.kept_at !== null && row.done_at === null,
      );
      if (under !== undefined) {
        this.#violate("a site that ends goes whole", `${home.name}: ${JSON.stringify(under)}`, []);
      }
    }
  }
}

/** Whether a home deletes all of a site: its end is known elsewhere. */
const isEnding = (home: HomeModel, siteId: number): boolean => {
  const row = home.deletions.get(siteId);
  return row !== undefined && row.home === home.name && row.kept_at !== null;
};

/** A home notes that the directory and KV know of an end, perhaps once more. */
const isKeeping = ({ table, before, after }: Change): boolean =>
  table === "site_deletions" && before !== null && after !== null && after.kept_at !== null && after.done_at === null;

/** The cron job goes on with an end that a fault has stopped: apps and webhooks go. */
function wrongStop(model: Model, home: HomeModel, changes: readonly Change[]): Broken {
  const rule = "only a site whose end is known elsewhere loses its rows";
  const siteId = Number(rowOf(changes[0] as Change).site_id);
  if (!hasEnded(model.directory.get(siteId)))
    return [rule, `the directory does not say that site ${siteId} of ${home.name} ends`];
  const other = changes.find(({ table, after }) => {
    const isStopped = (table === "apps" || table === "webhooks") && after === null;
    return table !== "site_deletions" && table !== "home_sites" && !isStopped;
  });
  return other === undefined ? undefined : [rule, JSON.stringify(other)];
}

/** The row of the site itself goes. */
function wrongLast(home: HomeModel, siteId: number, call: Call, changes: readonly Change[]): Broken {
  const rule = "the row of a site goes last, with a row in the audit log";
  if (!isEnding(home, siteId)) return [rule, `site ${siteId} does not end`];
  const left = Object.entries(remainingOf(home, siteId)).find(([, count]) => count > 0);
  if (left !== undefined) return [rule, `${left[1]} ${left[0]} are left`];
  const others = changes.filter(({ table }) => table !== "home_sites");
  const [told, another] = others;
  if (told?.table !== "audit_log" || another !== undefined) return [rule, JSON.stringify(others)];
  const { id } = home.deletions.get(siteId) ?? {};
  const details = JSON.stringify({ deletion_id: id });
  const row = {
    site_id: siteId,
    action: "site.deleted",
    subject: String(siteId),
    actor: "worker",
    details,
    at: call.clock,
  };
  const wrong = misses(told.after, row);
  return wrong === undefined ? undefined : [rule, wrong];
}

/** Sessions go, the oldest of their site, with all that belongs to them. */
function wrongSessions(home: HomeModel, siteId: number, call: Call, changes: readonly Change[]): Broken {
  const gone = goneOf(changes, "sessions");
  const ids = new Set(gone.map(({ id }) => Number(id)));
  const ofSite = [...home.sessions.values()].filter(({ row }) => row.site_id === siteId);
  const left = ofSite.filter(({ row }) => !ids.has(Number(row.id)));
  if (!isEnding(home, siteId)) {
    const days = home.sites.get(siteId)?.row.retention_days ?? null;
    if (days === null) return ["a site that keeps its sessions for ever loses none", `site ${siteId}: ${[...ids]}`];
    const until = call.clock - Number(days) * RETENTION_DAY;
    const young = gone.find(({ created_at }) => Number(created_at) > until);
    if (young !== undefined) {
      return ["no session goes while its site keeps it", `${JSON.stringify(young)} is not of ${until} or before`];
    }
    const highest = Math.max(...ids);
    const passedOver = left.find(({ row }) => Number(row.id) < highest && Number(row.created_at) <= until);
    if (passedOver !== undefined) {
      return ["the oldest sessions go first", `${passedOver.row.id} stays, ${highest} goes`];
    }
  }
  return (
    wrongParts(home, siteId, ids, changes) ??
    wrongCustomers(left, gone, changes) ??
    wrongFloors(home, siteId, left, ids, changes)
  );
}

/** Whether events go that an erasure left of sessions, which it took after they were found to be older than their site keeps them. */
function isLeftOfErased(home: HomeModel, call: Call, changes: readonly Change[]): boolean {
  const events = goneOf(changes, "events");
  const isOld = ({ site_id, created_at }: Row) => {
    const days = home.sites.get(Number(site_id))?.row.retention_days ?? null;
    return days !== null && Number(created_at) <= call.clock - Number(days) * RETENTION_DAY;
  };
  const isKept = (row: Row) => keptUntil(row, call.settings) > call.clock;
  const isPart = ({ table, after }: Change) =>
    (["events", "deliveries"].includes(table) && after === null) || (table === "home_sites" && after !== null);
  return events.some(isKept) && events.every((row) => row.data === null && isOld(row)) && changes.every(isPart);
}

function wrongLeftOfErased(home: HomeModel, siteId: number, changes: readonly Change[]): Broken {
  const left = [...home.sessions.values()].filter(({ row }) => row.site_id === siteId);
  return wrongParts(home, siteId, new Set(), changes) ?? wrongFloors(home, siteId, left, new Set(), changes);
}

/** Messages, participants, events and deliveries. */
function wrongParts(home: HomeModel, siteId: number, ids: ReadonlySet<number>, changes: readonly Change[]): Broken {
  const rule = "a session goes with all that belongs to it, and nothing else goes";
  const sessions = [...ids].map((id) => home.sessions.get(`${siteId}/${id}`));
  const parts = sessions.reduce((sum, each) => sum + (each?.messages.length ?? 0) + (each?.participants.size ?? 0), 0);
  const [messages, participants] = [goneOf(changes, "messages"), goneOf(changes, "participants")];
  const strange = [...messages, ...participants].find(({ session_id }) => !ids.has(Number(session_id)));
  if (strange !== undefined) return [rule, `a part of another session goes: ${JSON.stringify(strange)}`];
  const missing = parts - messages.length - participants.length;
  if (missing !== 0) return [rule, `${missing} messages and participants stay`];
  const { outbox } = home;
  const isIts = ({ site_id, session_id }: Row) => site_id === siteId && ids.has(Number(session_id));
  const seqs = new Set([...outbox.events.values()].filter(isIts).map(({ seq }) => seq));
  const events = goneOf(changes, "events");
  // An erasure may have taken a session after it was found to be old: what it left of the events may go.
  for (const { seq, data } of events) if (data === null) seqs.add(seq);
  if (events.length !== seqs.size || !events.every(({ seq }) => seqs.has(seq))) {
    return [rule, `the events ${events.map(({ seq }) => seq)} go, its are ${[...seqs]}`];
  }
  const due = [...outbox.deliveries.values()].filter(({ site_id, seq }) => site_id === siteId && seqs.has(seq));
  const deliveries = goneOf(changes, "deliveries");
  if (deliveries.length !== due.length || !deliveries.every(({ seq }) => seqs.has(seq))) {
    return [rule, `${deliveries.length} of ${due.length} deliveries go`];
  }
  const places = ["sessions", "messages", "participants", "events", "deliveries", "customers"];
  const other = changes.find(
    ({ table, after }) => table !== "home_sites" && (!places.includes(table) || after !== null),
  );
  return other === undefined ? undefined : [rule, JSON.stringify(other)];
}

function wrongCustomers(left: readonly Session[], gone: readonly Row[], changes: readonly Change[]): Broken {
  const rule = "a customer goes with the last session";
  const back = new Set(left.map(({ row }) => row.customer_external_id));
  const customers = goneOf(changes, "customers").map(({ external_id }) => external_id);
  const early = customers.find((each) => back.has(each));
  if (early !== undefined) return [rule, `${early} has more sessions`];
  const without = gone
    .map((row) => row.customer_external_id)
    .find((each) => !back.has(each) && !customers.includes(each));
  return without === undefined ? undefined : [rule, `${without} has none and stays`];
}

/** No id and no seq may be given again. */
function wrongFloors(
  home: HomeModel,
  siteId: number,
  left: readonly Session[],
  ids: ReadonlySet<number>,
  changes: readonly Change[],
): Broken {
  const rule = "no chat id and no seq is free again when the newest session goes";
  let row = home.sites.get(siteId)?.row;
  for (const change of changes) {
    if (change.table !== "home_sites" || change.after === null) continue;
    const { chat_id_floor = 0, event_seq_floor = 0 } = change.after;
    const wrong = becomes(change, { chat_id_floor, event_seq_floor });
    if (wrong !== undefined) return [rule, wrong];
    const isLower = ["chat_id_floor", "event_seq_floor"].some(
      (floor) => Number(change.after?.[floor]) < Number(change.before?.[floor]),
    );
    if (isLower) return [rule, `a floor is lower: ${JSON.stringify(change)}`];
    row = change.after;
  }
  const highest = Math.max(...ids);
  const isNewest = left.every((each) => Number(each.row.id) < highest);
  if (isNewest && Number(row?.chat_id_floor) < highest) return [rule, `${highest} is above ${row?.chat_id_floor}`];
  const seq = Math.max(0, ...goneOf(changes, "events").map((each) => Number(each.seq)));
  const isLast = seq > 0 && seq === home.outbox.newestSeq(siteId);
  return isLast && Number(row?.event_seq_floor) < seq ? [rule, `${seq} is above ${row?.event_seq_floor}`] : undefined;
}
