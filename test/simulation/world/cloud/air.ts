import type { Chance } from "../../machine/chance.ts";
import { currentTask, type Scheduler } from "../../machine/scheduler.ts";
import type { Call } from "../call.ts";
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

/** Whether somebody still waits for an answer: a call that was ended hears nothing. */
export const isHeard = (call: Call | undefined): boolean => call === undefined || call.alive;
