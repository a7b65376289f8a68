import { onTestFinished, vi } from "vitest";

/**
 * The milliseconds of each timer that fires from now on, until the test ends. A test of a time limit reads these, because a
 * measured time depends on the machine.
 */
export function firedTimers(): number[] {
  const delays: number[] = [];
  watchTimers((milliseconds) => () => delays.push(milliseconds));
  return delays;
}

/** Like {@link firedTimers}, the longest of each round. A timer that is set after another has fired begins a new round. */
export function roundsOfTimers(): number[] {
  const rounds: number[] = [];
  let round = 0;
  watchTimers((milliseconds) => {
    const ownRound = round;
    return () => {
      rounds[ownRound] = Math.max(rounds[ownRound] ?? 0, milliseconds);
      round = rounds.length;
    };
  });
  return rounds;
}

/** @param onSet is called when a timer is set, and returns what is called when it fires */
function watchTimers(onSet: (milliseconds: number) => () => void): void {
  const original = globalThis.setTimeout;
  const timers = vi.spyOn(globalThis, "setTimeout").mockImplementation(((callback: () => void, milliseconds = 0) => {
    const onFire = onSet(milliseconds);
    return original(() => {
      onFire();
      callback();
    }, milliseconds);
  }) as typeof setTimeout);
  onTestFinished(() => timers.mockRestore());
}
