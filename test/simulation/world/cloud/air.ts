import type { Chance } from "../../machine/chance.ts";
import { currentTask, type Scheduler } from "../../machine/scheduler.ts";
import type { Call, Trip } from "../call.ts";
import type { Moments } from "../moments.ts";
import type { CloudWitness } from "./witness.ts";

/** What all links between an isolate and its bindings share. */
export interface NetworkState {
  scheduler: Scheduler;
  chance: Chance;
  witness: CloudWitness;
  moments: Moments;
  /** While false, no fault happens. */
  isRough: () => boolean;
}

/** Whether a fault meets a call now. */
export const faultStrikes = ({ isRough, chance }: NetworkState, share: number): boolean =>
  isRough() && chance.happens(share);

/** The call whose work runs now; undefined outside of calls. */
export const callNow = (): Call | undefined => currentTask<Call>();

/** How many calls of bindings one invocation may make: on Workers Free, and for cron triggers on Workers Paid. */
const MOST_TRIPS = { free: 50, paid: 1_000 };

/**
 * Starts a call of a binding or of the network.
 *
 * @param all the list to note it in
 * @throws Error in the platform's words, when the invocation has made too many
 */
export function setOut(
  { scheduler, witness }: NetworkState,
  call: Call | undefined,
  to: string,
  all = call?.trips,
): Trip {
  const trip = { to, at: scheduler.now, isOpen: true };
  all?.push(trip);
  if (call !== undefined && call.trips.length > (call.role === "cron" ? MOST_TRIPS.paid : MOST_TRIPS.free)) {
    trip.isOpen = false;
    throw new Error("Too many API requests by single Worker invocation.");
  }
  if (call?.isOver) witness.goesOn(call, trip);
  return trip;
}

/** Brings an answer back to a call, unless the call has ended by then. */
export function bringBack(
  { scheduler }: NetworkState,
  call: Call | undefined,
  trip: Trip,
  travel: number,
  settle: () => void,
) {
  scheduler.after(travel, () => {
    if (isHeard(call, trip)) settle();
  });
}

/** Ends a trip when its answer arrives. @returns whether the call still waits for the answer */
export function isHeard(call: Call | undefined, trip: Trip): boolean {
  if (call?.alive === false) return false;
  trip.isOpen = false;
  return true;
}
