import type { Runtime } from "../runtime.ts";

/** The longest sleep of the timer, in milliseconds. It equals the limit of one try of D1, so that a usual try needs no other timer. */
const SLEEP_MS = 3_000;

/** A runtime for one request. Its long limits share one timer. */
export interface OneTimer extends Runtime {
  /** Stops the timer, unless work after the answer still has a limit. */
  rest(): void;
}

/**
 * Gives a request one timer for its long limits, because a timer costs more than most steps of a request. When the timer rings, the
 * due limits end, and the timer is set for the next limit. A limit that is due before the timer rings gets a timer of its own.
 */
export function oneTimer(runtime: Runtime): OneTimer {
  const limits = new Set<{ due: number; callback: () => void }>();
  let ringsAt = Number.POSITIVE_INFINITY;
  let stop = () => {};

  const sleep = (milliseconds: number) => {
    const ms = Math.min(milliseconds, SLEEP_MS);
    ringsAt = runtime.elapsed() + ms;
    stop = runtime.after(ms, runDue);
  };

  const rest = () => {
    if (limits.size > 0) return;
    stop();
    ringsAt = Number.POSITIVE_INFINITY;
  };

  function runDue(): void {
    // A timer may ring a little before the clock says so.
    const now = Math.max(ringsAt, runtime.elapsed());
    ringsAt = Number.POSITIVE_INFINITY;
    // A limit that is due in less than a millisecond ends now: so short a sleep may round to zero, and the timer would ring for ever.
    const dueLimits = [...limits].filter(({ due }) => due - now < 1);
    const laterLimits = [...limits].filter((limit) => !dueLimits.includes(limit));
    if (laterLimits.length > 0) sleep(Math.min(...laterLimits.map(({ due }) => due)) - now);
    // A callback may cancel another limit.
    for (const limit of dueLimits) if (limits.delete(limit)) limit.callback();
  }

  return {
    ...runtime,
    rest,
    after(milliseconds, callback) {
      const due = runtime.elapsed() + milliseconds;
      if (ringsAt === Number.POSITIVE_INFINITY && milliseconds >= SLEEP_MS) sleep(milliseconds);
      if (due < ringsAt) return runtime.after(milliseconds, callback);
      const limit = { due, callback };
      limits.add(limit);
      return () => limits.delete(limit);
    },
  };
}
