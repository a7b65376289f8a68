import { describe, expect, it } from "vitest";
import { describeLeftOut, describeViolations } from "../../src/core/describe-violations.ts";
import { RULES, SENT_AS } from "../../src/core/rules.ts";

describe("the agents left out", () => {
  it("the left-out agents are listed with those first that a caller can correct", () => {
    const leftOut = [
      { id: 1, why: "already on the session" },
      { id: 2, why: "disabled" },
      { id: 3, why: "unknown" },
    ] as const;
    expect(describeLeftOut(leftOut)).toBe("3 unknown, 2 disabled, 1 already on the session");
  });

  it("the agents are described as changed when a second try, after a lost answer, finds none left out", () => {
    expect(describeLeftOut([])).toBe("the agents have changed meanwhile");
  });

  it("left-out agents are grouped by reason when the text would be longer than 3,000 characters", () => {
    const agents = (count: number, first: number, why: "unknown" | "disabled" | "already on the session") =>
      Array.from({ length: count }, (_, i) => ({ id: first + i, why }));
    const fits = agents(100, 10_000, "already on the session");
    const except = (id: number) => [...fits.slice(1), { id, why: "already on the session" as const }];
    expect(describeLeftOut(except(1_000_000))).toMatch(/^(\d{5,7} already on the session(, |$)){100}/);
    expect(describeLeftOut(except(1_000_000))).toHaveLength(3_000);
    expect(describeLeftOut(except(10_000_000))).toMatch(/^already on the session:( \d{5}){99} 10000000$/);
    const most = Number.MAX_SAFE_INTEGER;
    const longest = [
      ...agents(33, most - 33, "already on the session"),
      ...agents(33, most - 66, "disabled"),
      ...agents(34, most - 100, "unknown"),
    ];
    expect(describeLeftOut(longest)).toMatch(
      /^unknown:( \d{16}){34}, disabled:( \d{16}){33}, already on the session:( \d{16}){33}$/,
    );
    expect(describeLeftOut(longest)).toHaveLength(1_744);
    const [detail, whole] = ["kefu_ids: nobody to add: ", fits.slice(0, 99)];
    expect(describeViolations([{ field: "kefu_ids", rule: "agent_to_add", agents: whole }])).toBe(
      `${detail}${describeLeftOut(whole)}`,
    );
    expect(describeViolations([{ field: "kefu_ids", rule: "agent_to_add", agents: fits }])).toMatch(
      /^kefu_ids: nobody to add: already on the session:( \d{5}){100}$/,
    );
  });
});

describe("violations in one line", () => {
  it("a violation in one line names the field, the item or key, the rule with its values, and the usual mistake", () => {
    expect(
      describeViolations([
        { field: "fzr_uid", rule: "required" },
        { field: "kefu_id", item: 2, rule: "integer_within", values: [1, 9], sentAs: "string" },
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

  it("violations in one line are ASCII, and no rule has the separator between them in its words", () => {
    for (const { detail } of [RULES, SENT_AS].flatMap((table) => Object.values(table)))
      expect(detail).toMatch(/^(?!.*; )[\x20-\x7e]+$/);
  });
});
