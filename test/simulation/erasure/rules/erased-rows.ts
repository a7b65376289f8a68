import type { HomeModel, Session } from "../../checker/home-model.ts";
import { becomes } from "../../checker/row-changes.ts";
import type { Written } from "../../operators/rules/intents.ts";
import type { Change, Row } from "../../platform/database.ts";

/** The rows of one transaction that erases: which it may change, and what it must not leave. */

interface Taken {
  siteId: number;
  /** The sessions that go. */
  taken: ReadonlySet<number>;
}

interface Erasing extends Taken {
  sbs: string | undefined;
  /** The sessions that receivers are told of. */
  told: readonly number[];
}

export type Changes = readonly Written[];

/** A site's sessions. */
export const sessionsAt = (home: HomeModel, siteId: number): Session[] =>
  [...home.sessions.values()].filter(({ row }) => row.site_id === siteId);

/** A customer's sessions, the oldest first. */
export const sessionsOf = (home: HomeModel, { siteId, sbs }: { siteId: number; sbs: string }): Session[] =>
  sessionsAt(home, siteId)
    .filter(({ row }) => row.customer_external_id === sbs)
    .sort((a, b) => Number(a.row.id) - Number(b.row.id));

/** How many messages and participants of these sessions a transaction leaves. */
export function partsLeft(home: HomeModel, changes: readonly Change[], { siteId, taken }: Taken): number {
  const sessions = [...taken].map((id) => home.sessions.get(`${siteId}/${id}`));
  const parts = sessions.reduce((sum, each) => sum + (each?.messages.length ?? 0) + (each?.participants.size ?? 0), 0);
  return parts - goneOf(changes, "messages").length - goneOf(changes, "participants").length;
}

/** The rows of a table that a transaction deletes. */
export const goneOf = (changes: readonly Change[], table: string): Row[] =>
  changes.flatMap((each) => (each.table === table && each.after === null && each.before !== null ? [each.before] : []));

/** The event that tells receivers of a transaction, with the sessions that it names. */
export function toldBy(changes: Changes): { event: Row | undefined; chatIds: number[] } {
  const event = changes.find(({ table, before }) => table === "events" && before === null)?.after ?? undefined;
  const { chat_ids: chatIds = [] } = JSON.parse(String(event?.data ?? "{}")) as { chat_ids?: number[] };
  return { event, chatIds };
}

/** Whether the event of a delivery was pruned: then nobody knows whose it was. */
export const isPruned = ({ outbox }: HomeModel, delivery: Row): boolean =>
  outbox.eventOf(delivery) === undefined && Number(delivery.seq) < outbox.newestSeq(Number(delivery.site_id));

/** @returns which change of a transaction is not the erasure's */
export function wrongChange(home: HomeModel, changes: Changes, erasing: Erasing): string | undefined {
  for (const change of changes) {
    const wrong = wrongOne(home, change, changes, erasing);
    if (wrong !== undefined) return `${wrong}: ${JSON.stringify(change)}`;
  }
  return undefined;
}

function wrongOne(home: HomeModel, change: Written, changes: Changes, erasing: Erasing): string | undefined {
  const { table, before, after } = change;
  const { siteId, sbs, taken, told } = erasing;
  const row = (after ?? before) as Row;
  if (row.site_id !== siteId) return "another site's";
  // The cron job or a hand may have taken a session after it was found, and a hand leaves its events.
  const isGone = (id: number) => !home.sessions.has(`${siteId}/${id}`);
  const isIts = (seq: unknown) => {
    const id = Number(home.outbox.events.get(`${siteId}/${seq}`)?.session_id);
    return taken.has(id) || (told.includes(id) && isGone(id));
  };
  switch (table) {
    case "audit_log":
      return undefined;
    case "sessions":
      return after === null ? undefined : "it only deletes";
    case "messages":
    case "participants":
      return after === null && taken.has(Number(row.session_id)) ? undefined : "it is of no erased session";
    case "customers": {
      const left = sessionsOf(home, { siteId, sbs: sbs ?? "" }).filter((each) => !taken.has(Number(each.row.id)));
      if (row.external_id !== sbs) return "another customer";
      return (after === null) === (left.length === 0) ? undefined : "a customer stays as long as their sessions";
    }
    case "home_sites": {
      const floor = Number(after?.chat_id_floor);
      return taken.has(floor) && floor > Number(before?.chat_id_floor)
        ? becomes(change, { chat_id_floor: floor })
        : "the floor is not that of an erased session";
    }
    case "events": {
      if (before !== null) return isIts(row.seq) ? becomes(change, { data: null }) : "another session's event";
      const areTold = [...taken].every((id) => told.includes(id)) && told.every((id) => taken.has(id) || isGone(id));
      return areTold && row.type === "session.erased" ? undefined : "it does not tell of these sessions";
    }
    case "deliveries": {
      if (before === null) return toldBy(changes).event?.seq === row.seq ? undefined : "it is not of what is told";
      if (isPruned(home, row)) return becomes(change, { last_error: null });
      if (!isIts(row.seq)) return "another session's delivery";
      const isEnded = before.status === "pending" || before.status === "failed";
      const status = isEnded ? "skipped" : (before.status ?? "");
      return becomes(change, { status, last_error: null, next_attempt_at: null, claim: null });
    }
    default:
      return "not a place of a customer's data";
  }
}

/** @returns what a transaction leaves of the sessions that it takes */
export function leftBehind(home: HomeModel, changes: Changes, { siteId, taken }: Erasing): string | undefined {
  if (taken.size === 0) return undefined;
  const parts = partsLeft(home, changes, { siteId, taken });
  if (parts !== 0) return `${parts} messages and participants are left`;
  const isIts = (event: Row | undefined) => event?.site_id === siteId && taken.has(Number(event?.session_id ?? -1));
  const changed = (table: string, { seq, webhook_id }: Row) =>
    changes.some((each) => each.table === table && each.after?.seq === seq && each.after?.webhook_id === webhook_id);
  const isLeft = (row: Row) => isIts(row) && row.data !== null && !changed("events", row);
  const event = [...home.outbox.events.values()].find(isLeft);
  if (event !== undefined) return `the data of event ${event.seq} is left`;
  const delivery = [...home.outbox.deliveries.values()].find(
    (row) =>
      isIts(home.outbox.eventOf(row)) &&
      (row.status === "pending" || row.status === "failed" || row.last_error !== null) &&
      !changed("deliveries", row),
  );
  if (delivery !== undefined) return `a delivery is left: ${JSON.stringify(delivery)}`;
  const others = sessionsAt(home, siteId).filter(({ row }) => !taken.has(Number(row.id)));
  const raised = changes.find((each) => each.table === "home_sites")?.after?.chat_id_floor;
  const floor = Number(raised ?? home.sites.get(siteId)?.floor);
  const highest = Math.max(...taken);
  const isFree = Math.max(floor, ...others.map(({ row }) => Number(row.id))) < highest;
  return isFree ? `the id ${highest} may be given again` : undefined;
}
