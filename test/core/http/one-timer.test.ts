import { describe, expect, it } from "vitest";
import { oneTimer } from "../../../src/core/http/one-timer.ts";
import { systemRuntime } from "../../../src/core/runtime.ts";

/** A clock that the test moves, and its timers. */
class Clock {
  time = 1_000;
  made = 0;
  readonly timers = new Map<number, { due: number; callback: () => void }>();
  readonly rung: string[] = [];
  readonly runtime = oneTimer({
    ...systemRuntime,
    elapsed: () => this.time,
    after: (milliseconds, callback) => {
      const id = ++this.made;
      this.timers.set(id, { due: this.time + milliseconds, callback });
      return () => this.timers.delete(id);
    },
  });

  limit(milliseconds: number): () => void {
    return this.runtime.after(milliseconds, () => void this.rung.push(`${milliseconds} at ${this.time - 1_000}`));
  }

  /** Moves the clock to a time, a millisecond at a time. */
  until(milliseconds: number): void {
    for (; this.time < 1_000 + milliseconds; this.time++) this.ring();
    this.ring();
  }

  /** Rings the timers that are due within a millisecond. */
  ring(): void {
    for (const [id, { due, callback }] of this.timers) {
      if (due - this.time < 1 && this.timers.delete(id)) callback();
    }
  }
}

describe("the one timer of a request", () => {
  it("the one timer of a request ends each limit in time, whatever their order", () => {
    const clock = new Clock();
    for (const milliseconds of [5_000, 1, 3_000, 2_999, 8_000, 3_001]) clock.limit(milliseconds);
    clock.until(10_000);
    expect(clock.rung).toEqual([
      "1 at 1",
      "2999 at 2999",
      "3000 at 3000",
      "3001 at 3001",
      "5000 at 5000",
      "8000 at 8000",
    ]);
    expect(clock.timers.size).toBe(0);
  });

  it("successive limits of seconds share one timer, and a shorter limit has its own timer", () => {
    const clock = new Clock();
    clock.limit(5_000)();
    clock.limit(1)();
    clock.until(2);
    const cancel = clock.limit(3_000);
    expect(clock.made).toBe(2);
    cancel();
    clock.runtime.rest();
    expect(clock.timers.size).toBe(0);
    clock.until(10_000);
    expect(clock.rung).toEqual([]);
  });

  it("a limit ends when its timer rings early or late, but not when it is cancelled in that moment", () => {
    const clock = new Clock();
    clock.limit(3_000);
    clock.time += 2_999.5;
    clock.ring();
    expect(clock.rung).toEqual(["3000 at 2999.5"]);
    const cancels: (() => void)[] = [];
    clock.runtime.after(3_000, () => {
      for (const cancel of cancels) cancel();
    });
    cancels.push(clock.limit(3_200), clock.limit(9_000));
    clock.time += 3_500;
    clock.ring();
    clock.until(20_000);
    expect(clock.rung).toEqual(["3000 at 2999.5"]);
  });

  it("the timer is set for the next limit before a callback of an ending limit sets another one", () => {
    const clock = new Clock();
    clock.runtime.after(3_000, () => void clock.limit(4_000));
    clock.limit(3_500);
    clock.until(10_000);
    expect(clock.rung).toEqual(["3500 at 3500", "4000 at 7000"]);
  });

  it("a limit ends when its end is so near that the clock cannot distinguish it from now", () => {
    const clock = new Clock();
    clock.limit(3_000);
    clock.limit(3_000 + 1e-10);
    clock.until(3_000);
    expect([clock.rung.length, clock.timers.size]).toEqual([2, 0]);
  });

  it("a timer that rests after the answer still ends the limits that run, and can be set again", () => {
    const clock = new Clock();
    clock.limit(3_000);
    clock.runtime.rest();
    clock.until(4_000);
    clock.runtime.rest();
    clock.limit(5_000);
    clock.until(10_000);
    expect(clock.rung).toEqual(["3000 at 3000", "5000 at 9000"]);
  });
});
