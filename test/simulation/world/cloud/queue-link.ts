import type { CarryCall } from "../../platform/d1.ts";
import type { Weather } from "../../weather/weather.ts";
import { bringBack, callNow, faultStrikes, type NetworkState, setOut } from "./air.ts";

/** Faults of a call of the queue, the gravest first. */
export const QUEUE_FAULTS = ["message lost", "answer lost", "slow"] as const;

/**
 * How an isolate's messages travel to a queue. The sweep replaces lost messages about events, and no answer waits for a
 * message. So no fault here excuses a failed call.
 */
export function queueLink(air: NetworkState, binding: string, weather: Weather["queue" | "journal"]): CarryCall {
  const { scheduler, chance, witness } = air;
  return (method, work) => {
    const call = callNow();
    const trip = setOut(air, call, `${binding} ${method}`);
    const slow = faultStrikes(air, weather.slow) ? chance.between(50, 5_000) : 0;
    const lostBefore = faultStrikes(air, weather.lostBefore);
    const lostAfter = faultStrikes(air, weather.lostAfter);
    const meets = { "message lost": lostBefore, "answer lost": lostAfter, slow: slow > 0 };
    const what = QUEUE_FAULTS.find((fault) => meets[fault]);
    if (what !== undefined) witness.note(call, `${binding} ${method}: ${what}`, `queue: ${what}`);
    return new Promise((resolve, reject) => {
      const settle = (how: () => void) => bringBack(air, call, trip, chance.between(0.2, 6), how);
      scheduler.after(chance.between(0.2, 6) + slow, () => {
        if (call?.isOver) return;
        if (lostBefore) return settle(() => reject(new Error("Queue send failed: Service Unavailable")));
        const result = work();
        settle(() => (lostAfter ? reject(new Error("Network connection lost.")) : resolve(result)));
      });
    });
  };
}
