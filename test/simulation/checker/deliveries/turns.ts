import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { keyOf, type OutboxModel } from "../events/outbox-model.ts";
import { FIRST_IN_LINE, isInFlight, isOfPing, LEASE_SECONDS, MOST_IN_FLIGHT_FAILING, placesLeft } from "./leases.ts";

/** In which order attempts begin: docs/architecture.md, "The way of an event". */

type Broken = [rule: string, what: string] | undefined;

/** The attempts that one run may have in flight. */
export const PLACES = 6;

/** The places that the failing webhooks of one home share. */
function placesOfFailing(call: Call): number {
  const homes = new Set(messagesOf(call).map(({ home }) => home));
  return Math.max(1, Math.floor(PLACES / homes.size / 3));
}

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
 * @param waiting the webhooks that had something due when the run began; undefined when these leases are not its first
 */
export function wrongTurn(
  outbox: OutboxModel,
  home: string,
  call: Call,
  leases: Change[],
  waiting: ReadonlySet<string> | undefined,
): Broken {
  const begun = Map.groupBy(leases, ({ after }) => `${after?.site_id}/${after?.webhook_id}`);
  for (const [key, its] of begun) {
    const wrong = wrongOrder(outbox, key, its) ?? wrongNewPlace(outbox, key, its);
    if (wrong !== undefined) return wrong;
  }
  const greedy = [...begun].find(([, its]) => its.length > 1)?.[0];
  // After a fault of D1 an earlier turn may have leased nothing, which leaves no trace: these leases need not be of the first turn.
  if (waiting === undefined || greedy === undefined || call.faults.length > 0) return undefined;
  const now = nowOf(leases);
  const told = messagesOf(call).filter((each) => each.home === home);
  // Failing webhooks share a third of the places, which may be one. Some may have got them that have the most in flight already. With a
  // place for each webhook, the first batch does not know yet which of them fail, and may leave a failing one to the next.
  const webhooks = new Set(told.map(({ site, webhook }) => `${site}/${webhook}`));
  const failing = [...webhooks].filter((key) => isFailing(outbox, key));
  const mayFailingWait =
    webhooks.size <= PLACES || failing.length > placesOfFailing(call) || failing.some((key) => begun.has(key));
  const starved = told.find(
    ({ site, webhook }) =>
      !begun.has(`${site}/${webhook}`) &&
      !(mayFailingWait && isFailing(outbox, `${site}/${webhook}`)) &&
      waiting.has(`${home}/${site}/${webhook}`) &&
      mayBegin(outbox, site, webhook, now),
  );
  if (starved === undefined) return undefined;
  return ["the webhooks of a run share its places", `${starved.webhook} has none, ${greedy} has more than one`];
}

/** @param its the leases of one webhook in one transaction */
function wrongOrder(outbox: OutboxModel, key: string, its: readonly Change[]): Broken {
  const keys = new Set(its.map(({ after }) => keyOf("deliveries", after as Row)));
  const newOne = newPlaceOf(outbox, key, its);
  const inLine = its.filter((each) => each !== newOne);
  const last = Math.max(...inLine.map(({ before }) => Number(before?.next_attempt_at)));
  const passedOver = waitingOf(outbox, key).find(
    (row) => Number(row.next_attempt_at) < last && !keys.has(keyOf("deliveries", row)),
  );
  if (passedOver === undefined) return undefined;
  const what = `${JSON.stringify(passedOver)} waits, due at ${last} is begun`;
  return ["the delivery that is due longest is attempted first", what];
}

const isFailing = (outbox: OutboxModel, key: string): boolean => outbox.webhooks.get(key)?.failing_since !== null;

/** The attempts in flight to a webhook that are the first of their deliveries. Pings do not count. */
const firstsOf = (outbox: OutboxModel, key: string, now: number): Row[] =>
  waitingOf(outbox, key).filter((row) => isInFlight(row, now) && Number(row.attempts) <= 1 && !isOfPing(outbox, row));

/** The attempts in flight to a webhook that are not the first of their deliveries. Pings do not count. */
const retriesOf = (outbox: OutboxModel, key: string, now: number): Row[] =>
  waitingOf(outbox, key).filter((row) => isInFlight(row, now) && Number(row.attempts) > 1 && !isOfPing(outbox, row));

/** The lease that may pass others over: while a webhook fails, one place is for a delivery that was never tried. */
function newPlaceOf(outbox: OutboxModel, key: string, its: readonly Change[]): Change | undefined {
  if (!isFailing(outbox, key)) return undefined;
  // A ping that is sent again while it is in flight keeps its lease, and is then no longer first in line.
  const leases = its.filter(({ before }) => before?.attempts === 0 && Number(before.next_attempt_at) > FIRST_IN_LINE);
  const newOne = leases.toSorted((a, b) => Number(b.before?.next_attempt_at) - Number(a.before?.next_attempt_at))[0];
  const others = firstsOf(outbox, key, nowOf(its)).filter(({ seq }) => leases.every(({ after }) => after?.seq !== seq));
  return others.length > 0 ? undefined : newOne;
}

/** Of the three places of a failing webhook, one is kept for a delivery that was never tried. */
function wrongNewPlace(outbox: OutboxModel, key: string, its: readonly Change[]): Broken {
  const now = nowOf(its);
  const isRetry = ({ before, after }: Change) => Number(before?.attempts) > 0 && !isOfPing(outbox, after as Row);
  if (!isFailing(outbox, key) || !its.some(isRetry)) return undefined;
  // Whether a ping in flight counts as one that was never tried is left open.
  if (waitingOf(outbox, key).some((row) => isInFlight(row, now) && isOfPing(outbox, row))) return undefined;
  const retries = retriesOf(outbox, key, now);
  const isNew = ({ attempts, next_attempt_at: at }: Row) => attempts === 0 && Number(at) > 0 && Number(at) <= now;
  const left = firstsOf(outbox, key, now).length === 0 ? waitingOf(outbox, key).find(isNew) : undefined;
  if (left === undefined && retries.length < MOST_IN_FLIGHT_FAILING) return undefined;
  const what = `${JSON.stringify(left)} waits, ${retries.length} others are in flight`;
  return ["of a failing webhook's three places one is for a delivery never tried", what];
}

/** The time at which leases were made. */
const nowOf = ([lease]: readonly Change[]): number => Number(lease?.after?.next_attempt_at) - LEASE_SECONDS;

const waitingOf = (outbox: OutboxModel, key: string): Row[] => {
  const webhook = outbox.webhooks.get(key);
  return webhook === undefined ? [] : outbox.deliveriesOf(webhook).filter(({ status }) => status === "pending");
};

/** Whether an attempt of a webhook may begin now. */
export function mayBegin(outbox: OutboxModel, site: number, id: string, now: number): boolean {
  const webhook = outbox.webhooks.get(`${site}/${id}`);
  if (webhook?.status !== "enabled") return false;
  const pings = outbox.deliveriesOf(webhook).filter((each) => isInFlight(each, now) && isOfPing(outbox, each));
  // Whether a ping in flight takes a place of the other deliveries is left open.
  const places = placesLeft(outbox, webhook, now) - pings.length;
  if (places <= 0) return false;
  const isKept = webhook.failing_since !== null && places === 1 && firstsOf(outbox, `${site}/${id}`, now).length === 0;
  return waitingOf(outbox, `${site}/${id}`).some(
    ({ attempts, next_attempt_at }) => Number(next_attempt_at) <= now && (attempts === 0 || !isKept),
  );
}
