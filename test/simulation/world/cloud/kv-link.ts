import type { CarryCall } from "../../platform/d1.ts";
import type { Weather } from "../../weather/weather.ts";
import { bringBack, callNow, faultStrikes, type NetworkState, setOut } from "./air.ts";

/** Faults of a call of KV, the gravest first; only a put can be lost. */
export const KV_FAULTS = ["failed", "silent", "lost", "slow"] as const;

/** How an isolate's calls travel to KV and back. The Worker never depends on KV, so no fault here excuses a failure. */
export function kvLink(air: NetworkState, name: string, weather: Weather["kv"]): CarryCall {
  const { scheduler, chance, witness } = air;
  return (method, work) => {
    const call = callNow();
    const trip = setOut(air, call, `${name} ${method}`);
    // The delay is seconds, or so short that D1, which is asked in parallel, answers at nearly the same moment.
    const slow = faultStrikes(air, weather.slow) ? chance.between(5, chance.one([40, 4_000])) : 0;
    const failed = faultStrikes(air, weather.failed);
    const silent = faultStrikes(air, weather.silent);
    const lost = method === "put" && faultStrikes(air, weather.putLost);
    const meets = { failed, silent, lost, slow: slow > 100 };
    const what = KV_FAULTS.find((fault) => meets[fault]);
    if (what !== undefined) witness.note(call, `KV ${name} ${method}: ${what}`, `KV ${name} ${method}: ${what}`);
    return new Promise((resolve, reject) => {
      scheduler.after(chance.between(0.1, 3) + slow, () => {
        if (silent || call?.isOver) return;
        const settle = (how: () => void) => bringBack(air, call, trip, chance.between(0.1, 3), how);
        if (failed && chance.happens(0.5)) work();
        if (failed)
          return settle(() => reject(new Error(`KV ${method.toUpperCase()} failed: 500 Internal Server Error`)));
        if (lost) return settle(() => resolve(undefined as never));
        const result = work();
        settle(() => resolve(result));
      });
    });
  };
}
