import type { RunResult, Violation } from "../run.ts";

const MOST_TRIES = 20;

export interface Prefix {
  steps: number;
  /** How the promise breaks then. */
  violation: Violation;
  tries: number;
  /** Whether one step less was tried and broke nothing; false when the search was cut. */
  complete: boolean;
}

/**
 * Looks for the fewest steps with which a seed still breaks the same promise. Fewer steps may end the faults sooner, so a promise that
 * breaks after 900 steps and after 300 may hold after 600: what is found breaks it, and one step less does not, but it need not be the
 * shortest of all.
 *
 * @param failed with `steps` steps the seed broke the promise in this way
 */
export async function shortestPrefix(
  failed: { steps: number; violation: Violation },
  run: (steps: number) => Promise<RunResult>,
): Promise<Prefix> {
  let holds = 0;
  let { steps: breaks, violation } = failed;
  let tries = 0;
  for (; breaks - holds > 1 && tries < MOST_TRIES; tries++) {
    // Up to the turn in which it showed, a run with just so many steps is the same.
    const { step: shown } = violation;
    const steps = holds < shown && shown < breaks ? shown : Math.floor((holds + breaks) / 2);
    const result = await run(steps);
    if (result.violation?.rule === violation.rule) {
      breaks = steps;
      violation = result.violation;
    } else {
      holds = steps;
    }
  }
  return { steps: breaks, violation, tries, complete: breaks - holds <= 1 };
}
