import type { Model } from "../../checker/model.ts";
import type { BrokenRule } from "../../checker/violate.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { isInFlight, isOfPing, LEASE_SECONDS, placesLeft } from "./leases.ts";
import { keyOf, type OutboxModel } from "./outbox-model.ts";

/** In which order attempts begin: docs/architecture.md, "The way of an event". */

/** The attempts that one run may have in flight. */
export const PLACES = 6;

interface QueueMessage {
  home: string;
  site: number;
  webhook: string;
}

export const messagesOf = ({ wire }: Call): QueueMessage[] => JSON.parse(wire.body) as QueueMessage[];

/**
 * @param outbox the home's outbox after one transaction
 * @param leases the leases of that transaction
 */
export function wrongOrder(outbox: OutboxModel, leases: readonly RowChange[]): BrokenRule {
  for (const [key, changes] of Map.groupBy(leases, ({ after }) => `${after?.site_id}/${after?.webhook_id}`)) {
    const webhook = outbox.webhooks.get(key);
    // While a webhook fails, one place is reserved for deliveries without an attempt.
    if (webhook === undefined || webhook.failing_since !== null) continue;
    const keys = new Set(changes.map(({ after }) => keyOf("deliveries", after as Row)));
    const last = Math.max(...changes.map(({ before }) => Number(before?.next_attempt_at)));
    const isPassedOver = (row: Row) =>
      row.status === "pending" && Number(row.next_attempt_at) < last && !keys.has(keyOf("deliveries", row));
    const delivery = outbox.deliveriesOf(webhook).find(isPassedOver);
    if (delivery !== undefined) {
      const what = `${JSON.stringify(delivery)} waits, due at ${last} is begun`;
      return ["the delivery that is due longest is attempted first", what];
    }
  }
  return undefined;
}

/** Whether a webhook fails, took over 10 s for its newest delivery, or has had no success yet. All others are sound. */
export const isSuspect = (webhook: Row | undefined): boolean => webhook?.failing_since !== null || webhook.slow !== 0;

/** The due deliveries of a sound webhook to which an attempt may begin now. */
export function dueNow(outbox: OutboxModel, { site, webhook: id }: QueueMessage, now: number): Row[] {
  const webhook = outbox.webhooks.get(`${site}/${id}`);
  if (webhook?.status !== "enabled" || isSuspect(webhook)) return [];
  const all = outbox.deliveriesOf(webhook).filter(({ status }) => status === "pending");
  const pings = all.filter((each) => isInFlight(each, now) && isOfPing(outbox, each));
  // It is not promised whether a ping in flight takes a place of other deliveries.
  if (placesLeft(outbox, webhook, now) - pings.length <= 0) return [];
  return all.filter(({ next_attempt_at }) => Number(next_attempt_at) <= now);
}

/** The deliveries of sound webhooks that were due when a run of the consumer began, and may have waited since. */
export class WaitingTurns {
  /** The due deliveries, by run, and then by home and webhook. */
  readonly #due = new Map<Call, Map<string, readonly Row[]>>();

  arrives(model: Model, call: Call): void {
    const due = messagesOf(call).map((each) => {
      const rows = dueNow(model.home(each.home).outbox, each, call.clock);
      return [`${each.home}/${each.site}/${each.webhook}`, rows] as const;
    });
    this.#due.set(call, new Map(due.filter(([, rows]) => rows.length > 0)));
  }

  /** The waiting deliveries in a home, by webhook. */
  of(call: Call, home: string): Map<string, readonly Row[]> {
    const dueAtHome = [...(this.#due.get(call) ?? [])].filter(([key]) => key.startsWith(`${home}/`));
    return new Map(dueAtHome.map(([key, rows]) => [key.slice(home.length + 1), rows]));
  }

  /** Notes that an attempt begins. A run begins no more attempts to a webhook that already has the most in flight. */
  begins(outbox: OutboxModel, home: string, { site_id, webhook_id, next_attempt_at }: Row): void {
    const webhook = outbox.webhooks.get(`${site_id}/${webhook_id}`);
    const at = Number(next_attempt_at) - LEASE_SECONDS;
    if (webhook === undefined || placesLeft(outbox, webhook, at) <= 1) this.leaves(`${home}/${site_id}/${webhook_id}`);
  }

  /** Forgets a webhook, because it may wait for another reason from now on. */
  leaves(webhook: string): void {
    for (const due of this.#due.values()) due.delete(webhook);
  }
}
