import type { RunResult, Violation } from "../run.ts";

const MOST_TRIES = 20;

export interface Prefix {
  steps: number;
  /** The violation of the shortest run. */
  violation: Violation;
  tries: number;
  /** Whether a run with one step less was tried and broke nothing; false when the search stopped early. */
  complete: boolean;
}

/**
 * Searches the fewest steps with which a seed still breaks the same promise. With fewer steps the faults may end
 * sooner, so a promise that breaks after 900 steps and after 300 may hold after 600. The result breaks the promise, and
 * one step less does not, but an even shorter run may break it too.
 *
 * @param failed the violation with `steps` steps
 */
export async function shortestPrefix(
  failed: { steps: number; violation: Violation },
  run: (steps: number) => Promise<RunResult>,
): Promise<Prefix> {
  let holds = 0;
  let { steps: breaks, violation } = failed;
  let tries = 0;
  for (; breaks - holds > 1 && tries < MOST_TRIES; tries++) {
    // Runs with at least `shown` steps are the same up to that turn, so the search starts there.
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
