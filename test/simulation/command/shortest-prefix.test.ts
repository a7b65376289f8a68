import { describe, expect, it } from "vitest";
import type { RunResult, Violation } from "../run.ts";
import { shortestPrefix } from "./shortest-prefix.ts";

const broken = (step: number, rule = "the promise"): Violation => ({ rule, what: "", step, about: [] });

/** Searches the shortest prefix of a run of 20,000 steps. @param breaks the violation of a run with so many steps */
async function search(breaks: (steps: number) => Violation | undefined, steps = 20_000) {
  const tried: number[] = [];
  const violation = breaks(steps) ?? broken(steps);
  const prefix = await shortestPrefix({ steps, violation }, async (fewer) => {
    tried.push(fewer);
    return { seed: 1, steps: fewer, elapsed: 0, violation: breaks(fewer), seen: {} } satisfies RunResult;
  });
  return { ...prefix, tried };
}

describe("shortestPrefix", () => {
  it.each([1, 2, 812, 1234, 19_999, 20_000])("finds %i steps", async (least) => {
    const found = await search((steps) => (steps >= least ? broken(least) : undefined));
    expect(found).toMatchObject({ steps: least, violation: broken(least), complete: true });
    expect(found.tried.length).toBe(found.tries);
  });

  it("begins with the step after which it showed", async () => {
    const { tried } = await search((steps) => (steps >= 300 ? broken(700) : undefined));
    expect(tried.slice(0, 2)).toEqual([700, 350]);
  });

  it("finds one that shows only when the run ends", async () => {
    const { steps, violation } = await search((steps) => (steps >= 300 ? broken(steps + 40) : undefined));
    expect({ steps, violation }).toEqual({ steps: 300, violation: broken(340) });
  });

  it("takes no other promise for the same", async () => {
    const { steps } = await search((steps) => (steps >= 300 ? broken(700) : broken(10, "another promise")));
    expect(steps).toBe(300);
  });

  it("gives one that breaks it, and no shorter one just below, where a shorter run does not always hold", async () => {
    const { steps } = await search((steps) => (steps >= 900 || (steps > 290 && steps < 310) ? broken(900) : undefined));
    expect([291, 900]).toContain(steps);
  });

  it("stops after 20 tries, and says so", async () => {
    const found = await search((steps) => (steps >= 3 ? broken(steps) : undefined), 2 ** 29);
    expect(found).toMatchObject({ tries: 20, complete: false, steps: 2 ** 9 });
    expect(found.tried).toHaveLength(20);
  });
});
