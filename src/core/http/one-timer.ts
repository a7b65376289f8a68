import type { Runtime } from "../runtime.ts";

/** How long the timer sleeps at most, in milliseconds. As long as a try of D1 may take, so that a usual try needs no other timer. */
const SLEEP_MS = 3_000;

/** A runtime for one request: its limits of seconds share one timer. */
export interface OneTimer extends Runtime {
  /** Stops the timer, unless work after the answer still has a limit. */
  rest(): void;
}

/**
 * Gives a request one timer for its limits of seconds, because a timer costs more than most of its steps. When the timer rings, it ends
 * the limits that are due, and is set for the next. A limit that is due before the timer rings gets a timer of its own.
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
    // Less than a millisecond is nothing: added to a clock it may round to no time at all, and the timer would ring for ever.
    const ended = [...limits].filter(({ due }) => due - now < 1);
    const later = [...limits].filter((limit) => !ended.includes(limit));
    if (later.length > 0) sleep(Math.min(...later.map(({ due }) => due)) - now);
    // A callback may cancel another limit.
    for (const limit of ended) if (limits.delete(limit)) limit.callback();
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
