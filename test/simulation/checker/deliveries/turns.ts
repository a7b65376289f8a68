import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { keyOf, type OutboxModel } from "../events/outbox-model.ts";
import { LEASE_SECONDS, placesLeft } from "./leases.ts";

/** In which order attempts begin: docs/architecture.md, "The way of an event". */

type Broken = [rule: string, what: string] | undefined;

interface Message {
  home: string;
  site: number;
  webhook: string;
}

/** The queue's messages of a run. */
export const messagesOf = ({ wire }: Call): Message[] => JSON.parse(wire.body) as Message[];

/**
 * @param outbox  the home's outbox after one transaction
 * @param leases  the leases of that transaction
 * @param isFirst whether they are the first ones of the run in this home
 */
export function wrongTurn(outbox: OutboxModel, home: string, call: Call, leases: Change[], isFirst: boolean): Broken {
  const begun = Map.groupBy(leases, ({ after }) => `${after?.site_id}/${after?.webhook_id}`);
  for (const [key, its] of begun) {
    const keys = new Set(its.map(({ after }) => keyOf("deliveries", after as Row)));
    const last = Math.max(...its.map(({ before }) => Number(before?.next_attempt_at)));
    const passedOver = waitingOf(outbox, key).find(
      (row) => Number(row.next_attempt_at) < last && !keys.has(keyOf("deliveries", row)),
    );
    if (passedOver !== undefined) {
      return [
        "the delivery that is due longest is attempted first",
        `${JSON.stringify(passedOver)} waits, due at ${last} is begun`,
      ];
    }
  }
  const greedy = [...begun].find(([, its]) => its.length > 1)?.[0];
  // After a fault of D1 an earlier turn may have leased nothing, which leaves no trace: these leases need not be of the first turn.
  if (!isFirst || greedy === undefined || call.faults.length > 0) return undefined;
  const now = Number(leases[0]?.after?.next_attempt_at) - LEASE_SECONDS;
  const told = messagesOf(call).filter((each) => each.home === home);
  const starved = told.find(
    ({ site, webhook }) => !begun.has(`${site}/${webhook}`) && mayBegin(outbox, site, webhook, now),
  );
  if (starved === undefined) return undefined;
  return ["the webhooks of a run share its places", `${starved.webhook} has none, ${greedy} has more than one`];
}

const waitingOf = (outbox: OutboxModel, key: string): Row[] => {
  const webhook = outbox.webhooks.get(key);
  return webhook === undefined ? [] : outbox.deliveriesOf(webhook).filter(({ status }) => status === "pending");
};

/** Whether an attempt of a webhook may begin now. */
function mayBegin(outbox: OutboxModel, site: number, id: string, now: number): boolean {
  const webhook = outbox.webhooks.get(`${site}/${id}`);
  if (webhook?.status !== "enabled" || placesLeft(outbox, webhook, now) <= 0) return false;
  return waitingOf(outbox, `${site}/${id}`).some(({ next_attempt_at }) => Number(next_attempt_at) <= now);
}
