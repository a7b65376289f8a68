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

/** A call asks something of a binding or of the network. @param all where to note it */
export function setOut({ scheduler, witness }: Air, call: Call | undefined, to: string, all = call?.trips): Trip {
  const trip = { to, at: scheduler.now, isOpen: true };
  all?.push(trip);
  if (call?.isOver) witness.goesOn(call, trip);
  return trip;
}

/** An answer comes back. @returns whether somebody still waits for it: a call that has ended hears nothing */
export function isHeard(call: Call | undefined, trip: Trip): boolean {
  if (call?.alive === false) return false;
  trip.isOpen = false;
  return true;
}
