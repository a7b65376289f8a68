import type { Model } from "../../checker/model.ts";
import { inserts, wrongRow } from "../../checker/row-changes.ts";
import { deliveryRow } from "../../deliveries/rules/expected-event.ts";
import { FIRST_IN_LINE, isInFlight } from "../../deliveries/rules/leases.ts";
import type { Row } from "../../platform/database.ts";
import type { OperationOf, WrittenInHome } from "./intents.ts";

export const DISABLED = "the webhook is disabled";

/** When many events are sent again, the last is due within this many seconds. */
const SPREAD_SECONDS = 15;

/**
 * A ping, and sending events again: docs/operating/webhooks.md, "Sending again". Tests of the calls check which events are
 * chosen. These rules check that each is sent once, and that an attempt in flight goes on.
 */
export function wrongSend(model: Model, operation: OperationOf<"send">, change: WrittenInHome): string | undefined {
  const { call, intent, changes } = operation;
  const { table, before, after } = change;
  const { outbox } = model.home(change.home);
  const row = after as Row;
  if (outbox.webhooks.get(`${intent.siteId}/${intent.webhookId}`)?.status !== "enabled")
    return "the webhook is not enabled";
  const isAgain = changes.some((each) => each.table === table && each.after?.seq === row.seq);
  if (isAgain && intent.what === "many") return "the call has sent it already";
  const isPing = intent.what === "ping";
  if (isPing && changes.some((each) => each.table === table)) return "the call has sent a ping already";
  if (table === "events") return isPing ? undefined : "it writes an event";
  const event = isPing ? changes.find((each) => each.table === "events")?.after : outbox.eventOf(row);
  if (event == null || event.data === null) return "there is nothing to deliver";
  // An attempt in flight goes on, and when it fails, the first of eight attempts follows.
  if (before !== null && isInFlight(before, call.clock)) return wrongRow(change, { attempts: 0 });
  const next = Number(row.next_attempt_at);
  const last = call.clock + (intent.what === "many" ? SPREAD_SECONDS : 0);
  const isFirst = event.type === "ping";
  if (isFirst ? next !== FIRST_IN_LINE : next < call.clock || next > last)
    return `it is due at ${next}, now is ${call.clock}`;
  const newRow = { ...deliveryRow(event, intent.webhookId, call.clock), next_attempt_at: next };
  // A delivery is kept as long as its event, so it has the event's created_at.
  if (before === null) return inserts(change, { ...newRow, created_at: event.created_at ?? 0 });
  // last_attempt_at stays, because the receiver may already have the event.
  const { created_at = 0, last_attempt_at = null } = before;
  return wrongRow(change, { ...newRow, created_at, last_attempt_at });
}
