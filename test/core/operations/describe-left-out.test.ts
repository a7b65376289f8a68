import { describe, expect, it } from "vitest";
import { describeLeftOut } from "../../../src/core/operations/describe-left-out.ts";

describe("the agents left out", () => {
  it("are listed with those first that a caller can correct", () => {
    const leftOut = [
      { id: 1, why: "already on the session" },
      { id: 2, why: "disabled" },
      { id: 3, why: "unknown" },
    ] as const;
    expect(describeLeftOut(leftOut)).toBe("3 unknown, 2 disabled, 1 already on the session");
  });

  it("are described as changed when a second try, after a lost answer, finds none of them", () => {
    expect(describeLeftOut([])).toBe("the agents have changed meanwhile");
  });
});
