import type { Chance } from "../../machine/chance.ts";
import { currentTask, type Scheduler } from "../../machine/scheduler.ts";
import type { Call, Trip } from "../call.ts";
import type { Witness } from "./witness.ts";

/** What all ways from an isolate to a binding have in common. */
export interface Air {
  scheduler: Scheduler;
  chance: Chance;
  witness: Witness;
  /** While false, nothing goes wrong. */
  isRough: () => boolean;
}

/** Whether a fault meets a call now. */
export const strikes = ({ isRough, chance }: Air, share: number): boolean => isRough() && chance.happens(share);

/** The call whose work asks; undefined for work of nobody. */
export const callNow = (): Call | undefined => currentTask<Call>();

/** So much may one invocation ask: on Workers Free, and what a cron trigger runs on Workers Paid, where pruning keeps up. */
const MOST_TRIPS = { free: 50, paid: 1_000 };

/**
 * A call asks something of a binding or of the network.
 *
 * @param all where to note it
 * @throws Error in the platform's words, when it has asked too much
 */
export function setOut({ scheduler, witness }: Air, call: Call | undefined, to: string, all = call?.trips): Trip {
  const trip = { to, at: scheduler.now, isOpen: true };
  all?.push(trip);
  if (call !== undefined && call.trips.length > (call.role === "cron" ? MOST_TRIPS.paid : MOST_TRIPS.free)) {
    throw new Error("Too many API requests by single Worker invocation.");
  }
  if (call?.isOver) witness.goesOn(call, trip);
  return trip;
}

/** An answer comes back. @returns whether somebody still waits for it: a call that has ended hears nothing */
export function isHeard(call: Call | undefined, trip: Trip): boolean {
  if (call?.alive === false) return false;
  trip.isOpen = false;
  return true;
}
