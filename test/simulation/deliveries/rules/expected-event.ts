import type { HomeModel } from "../../checker/home-model.ts";
import type { Row } from "../../platform/database.ts";
import { wantsType } from "./outbox-model.ts";

/** The expected row of an accepted call's event: docs/receiving.md. given-events.ts has the rules for its random id. */
interface ExpectedEvent {
  siteId: number;
  type: string;
  sessionId: number | null;
  /** The clock of the call's isolate, in Unix seconds. */
  clock: number;
  /** The fields of `data` except `seq`. */
  data: object;
}

interface ExpectedRow {
  table: string;
  after: Row;
  json?: object;
}

export const nextSeq = (home: HomeModel, siteId: number): number =>
  Math.max(home.outbox.newestSeq(siteId), Number(home.sites.get(siteId)?.row.event_seq_floor ?? 0)) + 1;

/** The rows of an event and of its deliveries; none for a site whose events are off. */
export function eventRows(home: HomeModel, event: ExpectedEvent): ExpectedRow[] {
  const { siteId, type } = event;
  if (home.sites.get(siteId)?.row.events !== 1) return [];
  const asking = home.outbox.webhooksOf(siteId).filter((webhook) => wantsType(webhook, type));
  const row = eventRow(home, event);
  const deliveries = asking.map(({ id }) => deliveryRow(row.after, String(id), event.clock));
  return [row, ...deliveries.map((after) => ({ table: "deliveries", after }))];
}

export function eventRow(home: HomeModel, { siteId, type, sessionId, clock, data }: ExpectedEvent): ExpectedRow {
  const seq = nextSeq(home, siteId);
  return {
    table: "events",
    after: { site_id: siteId, seq, type, session_id: sessionId, created_at: clock },
    json: { seq, ...data },
  };
}

/** A delivery that is due at once. */
export const deliveryRow = ({ site_id = 0, seq = 0 }: Row, webhook_id: string, clock: number): Row => ({
  site_id,
  webhook_id,
  seq,
  status: "pending",
  attempts: 0,
  next_attempt_at: clock,
  claim: null,
  last_status: null,
  last_error: null,
  created_at: clock,
  last_attempt_at: null,
  duration_ms: null,
});
