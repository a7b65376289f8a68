import type { HomeModel, Session } from "../../checker/home-model.ts";
import { wrongRow } from "../../checker/row-changes.ts";
import type { WrittenInHome } from "../../operators/rules/intents.ts";
import type { Row, RowChange } from "../../platform/database.ts";

/** The rows of one erasing transaction: which rows it may change, and which it must not leave. */

interface TakenSessions {
  siteId: number;
  /** The ids of the sessions that the transaction deletes. */
  ids: ReadonlySet<number>;
}

interface ErasingCall extends TakenSessions {
  sbs: string | undefined;
  /** The ids of the sessions that the transaction's event names. */
  eventChatIds: readonly number[];
}

export type WrittenRows = readonly WrittenInHome[];

export const sessionsAt = (home: HomeModel, siteId: number): Session[] =>
  [...home.sessions.values()].filter(({ row }) => row.site_id === siteId);

/** A customer's sessions, the oldest first. */
export const sessionsOf = (home: HomeModel, { siteId, sbs }: { siteId: number; sbs: string }): Session[] =>
  sessionsAt(home, siteId)
    .filter(({ row }) => row.customer_external_id === sbs)
    .sort((a, b) => Number(a.row.id) - Number(b.row.id));

/** How many messages and participants of these sessions a transaction leaves. */
export function partsLeft(home: HomeModel, changes: readonly RowChange[], { siteId, ids }: TakenSessions): number {
  const sessions = [...ids].map((id) => home.sessions.get(`${siteId}/${id}`));
  const parts = sessions.reduce((sum, each) => sum + (each?.messages.length ?? 0) + (each?.participants.size ?? 0), 0);
  return parts - goneOf(changes, "messages").length - goneOf(changes, "participants").length;
}

/** The rows of a table that a transaction deletes. */
export const goneOf = (changes: readonly RowChange[], table: string): Row[] =>
  changes.flatMap((each) => (each.table === table && each.after === null && each.before !== null ? [each.before] : []));

/** The event that a transaction writes for receivers, with the sessions that it names. */
export function eventBy(changes: WrittenRows): { event: Row | undefined; chatIds: number[] } {
  const event = changes.find(({ table, before }) => table === "events" && before === null)?.after ?? undefined;
  const { chat_ids: chatIds = [] } = JSON.parse(String(event?.data ?? "{}")) as { chat_ids?: number[] };
  return { event, chatIds };
}

/** Whether the event of a delivery was pruned. Then nobody knows which customer the event was about. */
export const isPruned = ({ outbox }: HomeModel, delivery: Row): boolean =>
  outbox.eventOf(delivery) === undefined && Number(delivery.seq) < outbox.newestSeq(Number(delivery.site_id));

/** @returns the first change that an erasure must not make */
export function wrongChange(home: HomeModel, changes: WrittenRows, erasing: ErasingCall): string | undefined {
  for (const change of changes) {
    const wrong = wrongOne(home, change, changes, erasing);
    if (wrong !== undefined) return `${wrong}: ${JSON.stringify(change)}`;
  }
  return undefined;
}

function wrongOne(
  home: HomeModel,
  change: WrittenInHome,
  changes: WrittenRows,
  erasing: ErasingCall,
): string | undefined {
  const { table, before, after } = change;
  const { siteId, sbs, ids, eventChatIds } = erasing;
  const row = (after ?? before) as Row;
  if (row.site_id !== siteId) return "the row belongs to another site";
  // The cron job or SQL by hand may have deleted a session after the erasure found it. SQL by hand leaves its events.
  const isGone = (id: number) => !home.sessions.has(`${siteId}/${id}`);
  const isOfSession = (seq: unknown) => {
    const id = Number(home.outbox.events.get(`${siteId}/${seq}`)?.session_id);
    return ids.has(id) || (eventChatIds.includes(id) && isGone(id));
  };
  switch (table) {
    case "audit_log":
      return undefined;
    case "sessions":
      return after === null ? undefined : "an erasure only deletes sessions";
    case "messages":
    case "participants":
      return after === null && ids.has(Number(row.session_id)) ? undefined : "it does not belong to an erased session";
    case "customers": {
      const sessionsLeft = sessionsOf(home, { siteId, sbs: sbs ?? "" }).filter((each) => !ids.has(Number(each.row.id)));
      if (row.external_id !== sbs) return "it is another customer";
      return (after === null) === (sessionsLeft.length === 0)
        ? undefined
        : "the customer is deleted with the last session, and not before";
    }
    case "home_sites": {
      const floor = Number(after?.chat_id_floor);
      return ids.has(floor) && floor > Number(before?.chat_id_floor)
        ? wrongRow(change, { chat_id_floor: floor })
        : "the floor is not the id of an erased session";
    }
    case "events": {
      if (before !== null)
        return isOfSession(row.seq) ? wrongRow(change, { data: null }) : "it is the event of another session";
      const areNamed =
        [...ids].every((id) => eventChatIds.includes(id)) && eventChatIds.every((id) => ids.has(id) || isGone(id));
      return areNamed && row.type === "session.erased" ? undefined : "the event does not name these sessions";
    }
    case "deliveries": {
      if (before === null)
        return eventBy(changes).event?.seq === row.seq ? undefined : "it does not deliver the event of the erasure";
      if (isPruned(home, row)) return wrongRow(change, { last_error: null });
      if (!isOfSession(row.seq)) return "it is the delivery of another session";
      const isEnded = before.status === "pending" || before.status === "failed";
      const status = isEnded ? "skipped" : (before.status ?? "");
      return wrongRow(change, { status, last_error: null, next_attempt_at: null, claim: null });
    }
    default:
      return "the table holds no data of customers";
  }
}

/** @returns what a transaction leaves of the sessions that it deletes */
export function findLeftover(home: HomeModel, changes: WrittenRows, { siteId, ids }: ErasingCall): string | undefined {
  if (ids.size === 0) return undefined;
  const parts = partsLeft(home, changes, { siteId, ids });
  if (parts !== 0) return `${parts} messages and participants are left`;
  const isOfSession = (event: Row | undefined) => event?.site_id === siteId && ids.has(Number(event?.session_id ?? -1));
  const deliveryChange = (table: string, { seq, webhook_id }: Row) =>
    changes.some((each) => each.table === table && each.after?.seq === seq && each.after?.webhook_id === webhook_id);
  const isLeft = (row: Row) => isOfSession(row) && row.data !== null && !deliveryChange("events", row);
  const event = [...home.outbox.events.values()].find(isLeft);
  if (event !== undefined) return `the data of event ${event.seq} is left`;
  const delivery = [...home.outbox.deliveries.values()].find(
    (row) =>
      isOfSession(home.outbox.eventOf(row)) &&
      (row.status === "pending" || row.status === "failed" || row.last_error !== null) &&
      !deliveryChange("deliveries", row),
  );
  if (delivery !== undefined) return `a delivery is left: ${JSON.stringify(delivery)}`;
  const others = sessionsAt(home, siteId).filter(({ row }) => !ids.has(Number(row.id)));
  const newFloor = changes.find((each) => each.table === "home_sites")?.after?.chat_id_floor;
  const floor = Number(newFloor ?? home.sites.get(siteId)?.floor);
  const highest = Math.max(...ids);
  const isFree = Math.max(floor, ...others.map(({ row }) => Number(row.id))) < highest;
  return isFree ? `the id ${highest} may be given again` : undefined;
}
