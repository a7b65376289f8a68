import { describe, expect, it } from "vitest";
import { describeLeftOut } from "../../src/operations/describe-left-out.ts";

describe("who is left out", () => {
  it("is named with what a caller can correct first", () => {
    const leftOut = [
      { id: 1, why: "already on the session" },
      { id: 2, why: "disabled" },
      { id: 3, why: "unknown" },
    ] as const;
    expect(describeLeftOut(leftOut)).toBe("3 unknown, 2 disabled, 1 already on the session");
  });

  it("is nobody any more when a second try, after a lost answer, finds the agents changed", () => {
    expect(describeLeftOut([])).toBe("the agents have changed meanwhile");
  });
});
