import type { RunResult, Violation } from "../run.ts";

const MOST_TRIES = 20;

export interface Shortest {
  steps: number;
  violation: Violation;
  tries: number;
}

/**
 * Searches the fewest steps with which a seed still breaks the same promise. With fewer steps the faults may end
 * sooner, so a promise that breaks after 900 steps and after 300 may hold after 600. The result breaks the promise, but
 * an even shorter run may break it too.
 *
 * @param failed the violation with `steps` steps
 */
export async function shortestRun(
  failed: { steps: number; violation: Violation },
  run: (steps: number) => Promise<RunResult>,
): Promise<Shortest> {
  let holds = 0;
  let tries = 0;
  let { steps: breaks, violation } = failed;
  for (; breaks - holds > 1 && tries < MOST_TRIES; tries++) {
    // Runs with at least `step` steps are the same up to that step, so the search begins there.
    const { step, rule } = violation;
    const steps = holds < step && step < breaks ? step : Math.floor((holds + breaks) / 2);
    const result = await run(steps);
    if (result.violation?.rule !== rule) holds = steps;
    else [breaks, violation] = [steps, result.violation];
  }
  return { steps: breaks, violation, tries };
}
