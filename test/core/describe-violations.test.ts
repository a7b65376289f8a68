import { describe, expect, it } from "vitest";
import { describeLeftOut, describeViolations } from "../../src/core/describe-violations.ts";
import { RULES } from "../../src/core/rules.ts";

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

  it("are counted where the text would be longer than 3,000 characters, and those who are named are named whole", () => {
    const many = Array.from({ length: 300 }, (_, i) => ({ id: 10_000 + i, why: "unknown" as const }));
    const text = describeLeftOut(many);
    expect(text).toMatch(/^10000 unknown, .* unknown, and 100 more$/);
    expect(text.replace(", and 100 more", "").length).toBeLessThanOrEqual(3_000);
    expect(describeLeftOut(many.slice(0, 200))).not.toContain("more");
  });
});

describe("violations in one line", () => {
  it("name the field, the item or the key, the rule with its values, and the usual slips", () => {
    expect(
      describeViolations([
        { field: "fzr_uid", rule: "required" },
        { field: "kefu_id", item: 2, rule: "integer_within", values: [1, 9], asString: true },
        { field: "metadata", key: 3, rule: "value_of_key", values: [500] },
        { field: "metadata", key: "one", rule: "value_of_key", values: [500] },
        { field: "title", rule: "text_within", values: [1, 120], mayBeLeftOut: true },
        { field: "kefu_ids", rule: "agent_to_add", agents: [{ id: 777, why: "unknown" }] },
        { rule: "site_open" },
        { rule: "known_path", values: [["POST /a", "POST /b"]] },
      ]).split("; "),
    ).toEqual([
      "fzr_uid: is required",
      "kefu_id: item 2 must be an integer from 1 to 9, not a string",
      "metadata: key 3 must have a string of up to 500 characters",
      "metadata: one key must have a string of up to 500 characters",
      "title: must be a string of 1 to 120 characters, or left out",
      "kefu_ids: nobody to add: 777 unknown",
      "the site is closed for now",
      "the calls are POST /a and POST /b",
    ]);
  });

  it("are parted by what no rule has in its words, and are ASCII, because a header has them", () => {
    for (const { detail } of Object.values(RULES)) expect(detail).toMatch(/^(?!.*; )[\x20-\x7e]+$/);
  });
});
