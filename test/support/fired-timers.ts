import { onTestFinished, vi } from "vitest";

/**
 * The milliseconds of each timer that fires from now on, until the test ends. A test of a time limit reads these, because a
 * measured time depends on the machine.
 */
export function firedTimers(): number[] {
  const delays: number[] = [];
  const original = globalThis.setTimeout;
  const timers = vi.spyOn(globalThis, "setTimeout").mockImplementation(((callback: () => void, milliseconds = 0) =>
    original(() => {
      delays.push(milliseconds);
      callback();
    }, milliseconds)) as typeof setTimeout);
  onTestFinished(() => timers.mockRestore());
  return delays;
}
