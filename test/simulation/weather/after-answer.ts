import type { Violate } from "../checker/violate.ts";
import type { Call, Trip } from "../world/call.ts";

/** Milliseconds after which an unanswered limit counts as failed, and the Worker no longer waits for it. */
const LIMIT_MS = 499;
/** The least milliseconds for which the Worker waits for any other answer before it counts as failed. */
const PATIENCE_MS = 2_000;
/**
 * docs/architecture.md, "The way of an event", and docs/deploying.md: how many calls of the platform one invocation may
 * make on Workers Free. A run of a cron trigger and the settling of a home may make more on Workers Paid.
 */
const MOST_TRIPS = 50;
const MOST_TRIPS_PAID = 1_000;

/**
 * Checks that a call leaves no work that is not registered with waitUntil, because the platform drops such work:
 * docs/architecture.md, "Work after the answer is registered".
 */
export class AfterAnswer {
  readonly #violate: Violate;

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  /** @param now milliseconds of virtual time, when all work that the call registered with `waitUntil` has ended */
  isOver(call: Call, now: number): void {
    this.checkTrips(call);
    this.#checkWords(call);
    // The 503 tells the operator that the work may still be done.
    if (call.role === "operator" && call.answer?.status === 503) return;
    const open = [...call.trips, ...call.counts].find(
      (trip) => trip.isOpen && isEffect(call, trip) && !isGivenUp(trip, now),
    );
    if (open !== undefined) this.#report(call, `had "${open.to}" in flight when it was over`);
  }

  /** Checks how many calls of the platform the call has made. */
  checkTrips({ name, role, trips, wire }: Call): void {
    const mayGoOn = role === "cron" || /^\/admin\/homes\/[^/]+\/restored$/.test(wire.path);
    if (trips.length <= (mayGoOn ? MOST_TRIPS_PAID : MOST_TRIPS)) return;
    const tripsByTarget = Map.groupBy(trips, ({ to }) => to);
    const counts = [...tripsByTarget].map(([to, all]) => `${to} ${all.length} times`).join(", ");
    this.#violate(
      "an invocation makes no more calls of the platform than the platform allows",
      `${name} tripsByTarget ${counts}`,
      [name],
    );
  }

  /** Checks that the answer has no words of a database error. They belong in the log. */
  #checkWords({ name, answer }: Call): void {
    const text = answer === undefined ? "" : JSON.stringify([...answer.headers, answer.body]);
    const [words] = /SQLITE_|D1_ERROR|D1 DB|database is|DB size/.exec(text) ?? [];
    if (words !== undefined) this.#violate("no answer quotes the database", `${name} was told ${text}`, [name]);
  }

  goesOn(call: Call, { to }: Trip): void {
    this.#report(call, `began "${to}" after it was over`);
  }

  #report(call: Call, what: string): void {
    this.#violate("work after the answer is registered with waitUntil", `${call.name} ${what}`, [call.name]);
  }
}

/**
 * Whether a dropped call of a binding could have changed anything. A read of KV may be dropped, because D1 or the time
 * limit may come first. A query to a faulty home may be dropped too, because another home has answered or the time was
 * over.
 */
function isEffect({ role, faults }: Call, { to }: Trip): boolean {
  if (/^(NONCES|CREDENTIALS) (get|list)$/.test(to)) return false;
  if (/^(NONCES|CREDENTIALS|EVENTS|JOURNAL|fetch|[A-Z]+_LIMIT)\b/.test(to) || faults.length === 0) return true;
  return role === "operator" && / (batch|run)$/.test(to);
}

const isGivenUp = ({ to, at }: Trip, now: number): boolean =>
  now - at >= (to.endsWith(" limit") ? LIMIT_MS : PATIENCE_MS);
