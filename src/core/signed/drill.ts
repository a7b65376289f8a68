import { ok, type Result, refused } from "../result.ts";

/** What a caller can rehearse on a signed call, by the header `x-drill`. docs/integrating.md, "Before you go live". */
export const DRILLS = ["lost-answer", "busy", "slow"] as const;

export type Drill = (typeof DRILLS)[number];

/** How long the drill `slow` withholds an answer. Longer than most time limits of callers, and than any answer of the service. */
export const SLOW_DRILL_MS = 12_000;

/**
 * Reads the header x-drill. Undefined when it is absent.
 *
 * @param areOn the var DRILLS. A drill that silently does not take place would pass, so it is refused while drills are off
 */
export function readDrill(header: string | undefined, areOn: boolean): Result<Drill | undefined> {
  if (header === undefined) return ok(undefined);
  const drill = DRILLS.find((each) => each === header);
  if (areOn && drill !== undefined) return ok(drill);
  return refused("invalid_parameters", "drill_unknown", {
    violations: [
      areOn
        ? { field: "x-drill", rule: "one_of", values: [DRILLS.join(", ")] }
        : { field: "x-drill", rule: "drills_on" },
    ],
  });
}

/** The refusal of the drill `busy`. */
export const DRILL_BUSY = refused("unavailable", "drill_busy", {
  violations: [{ field: "x-drill", rule: "drill_busy" }],
  retryAfter: 1,
});

/**
 * Whether the drill `busy` refuses a request: three of four. A ranstr always gets the same answer, so the drill needs no state, and a
 * retry with a used ranstr never passes.
 *
 * @param nonceKey of the request's ranstr: it ends with a hex digit of a hash
 */
export const isBusy = (nonceKey: string): boolean => !/[048c]$/.test(nonceKey);
