import type { Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { isInFlight } from "../deliveries/leases.ts";
import { deliveryRow } from "../events/expected-event.ts";
import { keptUntil } from "../events/retention.ts";
import type { HomeModel } from "../home-model.ts";
import type { Model } from "../model.ts";
import { sorted } from "./audit-details.ts";
import type { OperationOf, Written } from "./intents.ts";
import { becomes, inserts } from "./row-changes.ts";

/** Sending many events again, `POST …/redeliver`: docs/operating.md, "Sending again". */

type Asked = OperationOf<"redeliverMany">["intent"];

/** What is sent again is due within so many seconds. */
const SPREAD_SECONDS = 15;

/** The statuses that a call means when it names none. */
export const DEFAULT_STATUSES = ["failed", "pending"];

/** The status of a refusal for what was asked; undefined when it may be asked. */
export function refusedRedelivery({ since, until, afterSeq, statuses }: Asked, now: number): number | undefined {
  const isOpen = statuses.includes("missed") && since === undefined && afterSeq === undefined;
  return isOpen || (since !== undefined && since > (until ?? now)) ? 400 : undefined;
}

/** Whether an event tells of the webhook itself: it is never sent to it. */
const isOfItself = ({ type, data }: Row, webhookId: string): boolean =>
  (type === "webhook.disabled" || type === "webhook.failing") &&
  (JSON.parse(String(data)) as { webhook_id?: string }).webhook_id === webhookId;

/** The seqs that fit what a call asks for, in their order. */
export function fittingNow({ outbox }: HomeModel, intent: Asked, { clock, settings }: Call): number[] {
  const { siteId, webhookId, since = 0, until = clock, afterSeq = 0, statuses } = intent;
  const webhook = outbox.webhooks.get(`${siteId}/${webhookId}`);
  if (webhook === undefined || webhook.status !== "enabled") return [];
  const types = JSON.parse(String(webhook.events)) as string[];
  const fits = (event: Row): boolean => {
    const delivery = outbox.deliveries.get(`${siteId}/${webhookId}/${event.seq}`);
    const isNew = delivery === undefined;
    const status = isNew ? (types.includes(String(event.type)) ? "missed" : "unwanted") : String(delivery.status);
    return (
      event.site_id === siteId &&
      Number(event.seq) > afterSeq &&
      Number(event.created_at) >= since &&
      Number(event.created_at) <= until &&
      keptUntil(event, settings) > clock &&
      event.data !== null &&
      event.type !== "ping" &&
      !isOfItself(event, webhookId) &&
      statuses.includes(status)
    );
  };
  return [...outbox.events.values()]
    .filter(fits)
    .map(({ seq }) => Number(seq))
    .sort((a, b) => a - b);
}

/** How one change of a call that sends many events again is wrong. */
export function wrongRedeliveryOf(
  model: Model,
  { call, intent, changes }: OperationOf<"redeliverMany">,
  change: Written,
): string | undefined {
  const { table, after } = change;
  const home = model.home(change.home);
  if (intent.isDry) return "a dry run changes nothing";
  if (table !== "deliveries" || after?.site_id !== intent.siteId || after.webhook_id !== intent.webhookId)
    return "not a delivery of the webhook";
  const isAgain = changes.some((each) => each.table === table && each.after?.seq === after.seq);
  if (isAgain) return "the call has sent it already";
  if (!fittingNow(home, intent, call).includes(Number(after.seq))) return "nobody asked for it";
  return wrongRenewal(home, call, change, SPREAD_SECONDS);
}

/** Why a change does not make a delivery start again, within some seconds. */
export function wrongRenewal({ outbox }: HomeModel, { clock }: Call, change: Written, spread: number) {
  const { before, after } = change;
  const event = outbox.eventOf(after as Row);
  if (event === undefined || event.data === null) return "there is nothing to deliver";
  // An attempt in flight goes on, and when it fails, the first of eight attempts follows.
  if (before !== null && isInFlight(before, clock)) return becomes(change, { attempts: 0 });
  const next = Number(after?.next_attempt_at);
  const isPing = event.type === "ping";
  if (isPing ? next !== 0 : next < clock || next > clock + spread) return `it is due at ${next}, now is ${clock}`;
  const fresh = { ...deliveryRow(event, String(after?.webhook_id), clock).after, next_attempt_at: next };
  // A delivery is kept as long as its event, so it takes the event's time.
  if (before === null) return inserts(change, { ...fresh, created_at: event.created_at ?? 0 });
  // The time of the last attempt stays: its receiver may have the event.
  const { created_at = 0, last_attempt_at = null } = before;
  return becomes(change, { ...fresh, created_at, last_attempt_at });
}

/** How the audit row of one transaction of such a call is wrong: one row says what the whole transaction did. */
export function wrongRedeliveryAudit({ intent, call }: OperationOf<"redeliverMany">, changes: readonly Written[]) {
  const rows = changes.flatMap(({ table, after }) => (table === "audit_log" && after !== null ? [after] : []));
  const sent = changes.filter(({ table }) => table === "deliveries").length;
  const said = rows.map(({ site_id, action, subject }) => `${site_id} ${action} ${subject}`).join();
  if (said !== (sent > 0 ? `${intent.siteId} webhook.redelivered ${intent.webhookId}` : "")) {
    return `the audit log says ${said || "nothing"} of ${sent} deliveries`;
  }
  if (sent === 0) return undefined;
  const { call: id, next_after_seq, ...details } = detailsOf(rows[0]);
  const { since, until = call.clock, afterSeq: after_seq, statuses: status } = intent;
  const expected = JSON.parse(JSON.stringify({ status, since, until, after_seq, queued: sent })) as object;
  if (sorted(details) !== sorted(expected) || typeof id !== "string" || next_after_seq === undefined) {
    return `the audit log says ${rows[0]?.details}, expected ${JSON.stringify(expected)}`;
  }
  return undefined;
}

/** How the audit row of a ping, or of one event that is sent again, is wrong. A second try leaves no second row. */
export function wrongSendingAudit(
  { intent, changes: before }: OperationOf<"ping" | "redeliver">,
  changes: readonly Written[],
): string | undefined {
  const { siteId, webhookId } = intent;
  const rows = changes.flatMap(({ table, after }) => (table === "audit_log" && after !== null ? [after] : []));
  const said = rows.map(({ site_id, action, subject, details }) => `${site_id} ${action} ${subject} ${details}`).join();
  const made = changes.find(({ table }) => table === "events")?.after;
  const [action, details] =
    intent.kind === "ping" ? ["webhook.pinged", { event_id: made?.id }] : ["webhook.redelivered", { seq: intent.seq }];
  const isFirst = !before.some(({ table }) => table === "deliveries");
  const isDone = isFirst && changes.some(({ table }) => table === "deliveries");
  const expected = isDone ? `${siteId} ${action} ${webhookId} ${JSON.stringify(details)}` : "";
  return said === expected ? undefined : `the audit log says ${said || "nothing"}, expected ${expected || "nothing"}`;
}

const detailsOf = (row: Row | undefined) => JSON.parse(String(row?.details)) as Record<string, unknown>;

/** What one transaction of such a call left out, up to the seq where the next step begins. */
export function leftOut(model: Model, { intent, call }: OperationOf<"redeliverMany">, changes: readonly Written[]) {
  const sent = changes.filter(({ table }) => table === "deliveries");
  const told = changes.find(({ table }) => table === "audit_log")?.after;
  if (sent.length === 0 || told == null) return undefined;
  const next = detailsOf(told).next_after_seq ?? Number.POSITIVE_INFINITY;
  const fitting = fittingNow(model.home(sent[0]?.home ?? ""), intent, call).filter((seq) => seq <= Number(next));
  const left = fitting.filter((seq) => !sent.some(({ after }) => after?.seq === seq));
  return left.length === 0 ? undefined : `it leaves out ${left}`;
}

/** How the answer of such a call is wrong. */
export function wrongRedeliveryAnswer(
  { intent, call, changes, fitting }: OperationOf<"redeliverMany">,
  body: Record<string, unknown>,
): string | undefined {
  const { matched, queued, until, next_after_seq: next, ...more } = body;
  if (Object.keys(more).length > 0) return `nobody asked for ${Object.keys(more)}`;
  if (until !== (intent.until ?? call.clock)) return `until is ${until}`;
  if (next !== null && !(Number(next) > (intent.afterSeq ?? 0))) return `the next step begins at ${next}`;
  const sent = changes.filter(({ table }) => table === "deliveries").length;
  if (queued !== sent) return `it has sent ${sent}`;
  if (sent > 0) {
    return matched === sent ? undefined : `${sent} matched`;
  }
  const counts = fitting.map((seqs) => seqs.filter((seq) => next === null || seq <= Number(next)).length);
  // Without a dry run, what fits is sent.
  const known = intent.isDry ? counts : counts.filter((count) => count === 0);
  return known.includes(Number(matched)) ? undefined : `${counts.join(" or ")} fit`;
}
