import type { Model } from "../../checker/model.ts";
import { isInFlight } from "../../deliveries/rules/leases.ts";
import type { Operation, WrittenInHome } from "./intents.ts";

/** What a call about a webhook must do to all its deliveries in one transaction: docs/operating/webhooks.md, "Webhooks". */

/** The most deliveries that one statement ends, deletes or makes due. The real number is 5,000. */
export const MOST_AT_ONCE = 6;

/** The longest time for which a lease may seem to last, because clocks differ. */
const LONGEST_LEASE_SECONDS = 120;

/** Which deliveries a transaction of a call fails to change. The model has not applied it yet. */
export function findUndone(
  model: Model,
  { call, intent }: Operation,
  changes: readonly WrittenInHome[],
): string | undefined {
  const change = changes.find(({ table }) => table === "webhooks");
  const isMeant = intent.kind === "deleteWebhook" || (intent.kind === "change" && intent.table === "webhooks");
  if (!isMeant || change === undefined || change.before === null) return undefined;
  const { before, after } = change;
  const all = model.home(change.home).outbox.deliveriesOf(before);
  const pending = all.filter(({ status }) => status === "pending");
  const deliveries = changes.filter(({ table }) => table === "deliveries");
  if (after === null)
    return isEnough(deliveries.length, all.length) ? undefined : `it deletes ${deliveries.length} of ${all.length}`;
  if (before.status === "enabled" && after.status === "disabled") {
    const endCount = deliveries.filter((each) => each.after?.status === "failed").length;
    return isEnough(endCount, pending.length) ? undefined : `it ends ${endCount} of ${pending.length}`;
  }
  if (before.status === "disabled" && after.status === "enabled" && pending.length > 0) {
    return `it enables a webhook with ${pending.length} pending`;
  }
  if (before.url === after.url || after.status !== "enabled") return undefined;
  const inFlight = pending.filter(
    (row) => isInFlight(row, call.clock) && Number(row.next_attempt_at) <= call.clock + LONGEST_LEASE_SECONDS,
  );
  const renewals = deliveries.filter((each) => each.after?.claim !== null).length;
  if (renewals < inFlight.length) return `it renews ${renewals} of ${inFlight.length} in flight`;
  const later = pending.filter((row) => row.claim === null && Number(row.next_attempt_at) > call.clock);
  const dueCount = deliveries.filter((each) => each.before?.claim === null).length;
  return isEnough(dueCount, later.length) ? undefined : `it makes ${dueCount} of ${later.length} due`;
}

const isEnough = (count: number, all: number): boolean => count >= Math.min(all, MOST_AT_ONCE);
