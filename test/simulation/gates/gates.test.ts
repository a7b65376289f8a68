import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../../src/operations/index.ts";
import { operationNames } from "./operations.ts";
import { notSeen } from "./report.ts";

describe("the gate of operations", () => {
  const made = [{ wireName: "close_gd", refusals: { session_not_found: {}, closed_before: {} } }];
  const all = {
    "close_gd accepted": 3,
    "close_gd repeated": 1,
    "close_gd refused: session_not_found": 2,
    "close_gd refused: closed_before": 1,
    "close_gd refused: key_reused": 7,
  };

  it("is content when each was accepted, repeated, and refused by each of its rules", () => {
    expect(notSeen({ seen: all }, operationNames(made))).toEqual([]);
  });

  it.each(Object.keys(all))("names %s when it never happened", (name) => {
    expect(notSeen({ seen: { ...all, [name]: 0 } }, operationNames(made))).toEqual([name]);
    const { [name as keyof typeof all]: _, ...rest } = all;
    expect(notSeen({ seen: rest }, operationNames(made))).toEqual([name]);
  });

  it("takes its operations from the code", () => {
    const names = operationNames(OPERATIONS);
    for (const { wireName, refusals } of OPERATIONS) {
      for (const refusal of Object.keys(refusals)) expect(names).toContain(`${wireName} refused: ${refusal}`);
    }
    expect(names).toContain("create_gd refused: agents_invalid");
  });
});
