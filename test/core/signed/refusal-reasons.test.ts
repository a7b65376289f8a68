import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { COMMON_REASONS, codeOfReason, REFUSAL_REASONS } from "../../../src/core/signed/refusal-reasons.ts";

/** Reasons in the code that no row of the journal can have, each with an explanation. */
const NEVER: Record<string, string> = {
  appid_missing: "the app is unknown",
  body_too_slow: "the body was not read, so no app is known",
  body_cut_off: "the body was not read, so no app is known",
  body_too_large: "the body was not read, so no app is known",
  content_type_not_json: "the body was not read, so no app is known",
  content_encoding_present: "the body was not read, so no app is known",
  operator_time_limit: "only calls of operators",
  kv_unavailable: "only calls of operators",
  changed_meanwhile: "only calls of operators",
};

const SOURCES = Object.values(
  import.meta.glob(
    [
      "../../../src/core/{signed,credentials}/*.ts",
      "../../../src/core/config.ts",
      "../../../src/core/http/{faults,read-body}.ts",
      "../../../src/core/store/{run-batch,app-routes}.ts",
      "../../../src/core/operations/define-operation.ts",
      "!../../../src/core/signed/refusal-reasons.ts",
    ],
    { query: "?raw", import: "default", eager: true },
  ) as Record<string, string>,
);

/** Matches `reason: "x"`, `refused("code", "x"`, `replayed("x"`, `unreadable("x"`, and the reasons of limits and of unverified apps. */
const REASON =
  /reason: "([a-z0-9_]+)"|refused\(\s*"[a-z_]+",\s*"([a-z0-9_]+)"|(?:replayRefusal|unreadableBody)\("([a-z0-9_]+)"|"([a-z]+_limit|app_revoked|app_unknown|credentials_stale)"/g;

const reasons = new Set(
  SOURCES.flatMap((source) => [...source.matchAll(REASON)].map(([, ...groups]) => groups.find(Boolean) ?? "")),
);

describe("the reasons of the journal", () => {
  it("the list of the journal's reasons has every reason that the code of a signed call gives", () => {
    expect(reasons.size).toBeGreaterThan(20);
    const missing = [...reasons].filter((reason) => !REFUSAL_REASONS.includes(reason) && NEVER[reason] === undefined);
    expect(missing).toEqual([]);
  });

  it("the steps in runRequest's comment list every reason except those of a fault", () => {
    const source = SOURCES.find((text) => text.includes("export async function runRequest")) ?? "";
    const [, steps = ""] = source.match(/\/\*\*\n \* Runs the steps of a signed request(.*?)\*\//s) ?? [];
    const names = [...steps.matchAll(/`([a-z0-9_]+)`/g)].map(([, reason]) => reason);
    const ofFaults = /^d1_|^(?:master_key_wrong|configuration|unexpected|unavailable|internal)$/;
    const expected = Object.keys(COMMON_REASONS).filter((reason) => !ofFaults.test(reason));
    expect([...new Set(names)].filter((reason) => !ofFaults.test(String(reason))).sort()).toEqual(expected.sort());
  });

  it("the list of the journal's reasons has no reason that the code does not give", () => {
    expect(Object.keys(COMMON_REASONS).filter((reason) => !reasons.has(reason))).toEqual([]);
  });

  it("each reason of the journal has the code of its answer, and an unknown reason counts as a fault", () => {
    expect(codeOfReason("timestamp_stale")).toBe("token_invalid");
    for (const { refusals } of OPERATIONS) {
      for (const [reason, { code }] of Object.entries(refusals)) expect(codeOfReason(reason)).toBe(code);
    }
    expect(codeOfReason("of another version")).toBe("internal");
  });

  it("the list of the journal's reasons includes the rules of each operation", () => {
    for (const { refusals } of OPERATIONS)
      expect(REFUSAL_REASONS).toEqual(expect.arrayContaining(Object.keys(refusals)));
  });
});
