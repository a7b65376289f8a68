import type { CarryCall } from "../../platform/d1.ts";
import { bringBack, callNow, faultStrikes, type NetworkState, setOut } from "./air.ts";

/** Share of a limit's calls that fail or get no answer. */
const FAILURES = 0.01;

export const LIMIT_FAULTS = ["silent", "failed"] as const;

/** How an isolate calls a rate limit of its location: without network, and some calls fail. */
export function limitLink(air: NetworkState, name: string): CarryCall {
  const { chance, witness } = air;
  return (method, work) => {
    const call = callNow();
    const trip = setOut(air, call, `${name} ${method}`, call?.counts);
    if (faultStrikes(air, FAILURES)) {
      const isSilent = !chance.happens(0.5);
      const fault: (typeof LIMIT_FAULTS)[number] = isSilent ? "silent" : "failed";
      witness.note(call, `limit: ${fault}`, `limit: ${fault}`);
      if (call !== undefined) call.limiterFailed = true;
      if (isSilent) return new Promise(() => {});
      trip.isOpen = false;
      throw new Error("internal error; reference = 0");
    }
    const result = work();
    return new Promise((resolve) => bringBack(air, call, trip, chance.between(0, 0.2), () => resolve(result)));
  };
}
