import { describe, expect, it } from "vitest";
import chinese from "../../../src/assets/console/zh.json";
import { describeViolations } from "../../../src/core/describe-violations.ts";
import { DOCUMENTED, OPERATIONS } from "../../../src/core/operations/index.ts";
import type { Refused } from "../../../src/core/result.ts";
import { type LeftOutAgent, RULES, type RuleName, SENT_AS, type Violation, wordsOf } from "../../../src/core/rules.ts";
import { checkFreshness } from "../../../src/core/signed/check-freshness.ts";
import { readIdempotencyKey } from "../../../src/core/signed/idempotency-key.ts";
import { readFields } from "../../../src/core/signed/read-fields.ts";
import { violationOfShape } from "../../../src/core/signed/violation-of-shape.ts";
import { reasonText } from "../../../src/operators/console/reasons.ts";
import type { View } from "../../../src/operators/console/view.ts";
import { leftOutText, refusalTexts, violationTexts } from "../../../src/operators/console/violation-texts.ts";
import { REFUSAL_REASONS } from "../../../src/operators/services/journal.ts";

const SOURCES = import.meta.glob(
  [
    "../../../src/core/{fields,config}.ts",
    "../../../src/core/{operations,signed,http}/*.ts",
    "../../../src/core/store/*.ts",
  ],
  { query: "?raw", import: "default", eager: true },
) as Record<string, string>;

const viewOf = (texts: Record<string, string>) =>
  ({
    t: (english, ...values) =>
      (texts[english] ?? english).replace(/\{(\d)\}/g, (_, index) => String(values[Number(index)] ?? "")),
  }) as View;

const ENGLISH = viewOf({});
const CHINESE = viewOf(chinese);

const HAN = /\p{Script=Han}/u;

/** The violations without a Chinese text. Also checks that a row of the journal says them, and quotes nothing. */
const unknownOf = (violations: readonly Violation[]) => {
  const row = { detail: describeViolations(violations), violations: [...violations] };
  for (const view of [ENGLISH, CHINESE]) expect(refusalTexts(view, row)).toEqual(violationTexts(view, violations));
  return violationTexts(CHINESE, violations).filter((text) => !HAN.test(text));
};

/** Values that each break some rule. */
const WRONG: unknown[] = [
  undefined,
  null,
  "",
  "x",
  "1",
  0,
  -1,
  1.5,
  true,
  {},
  [],
  [0],
  ["1"],
  [1.5],
  [null],
  "x".repeat(3_000),
  "1,",
  ",",
  "1,,2",
  "1，2",
  "01",
  "1 2",
  Array.from({ length: 101 }, (_, i) => i + 1),
  { "": "" },
  { a: 1 },
  { 1: 1 },
  { a: "x".repeat(501) },
  Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, ""])),
];

const violationsOf = (result: { ok: true } | Refused) => (result.ok ? [] : [result.violations ?? []]);

describe("a violation in the reader's language", () => {
  it("each rule has a whole sentence in both languages, so that another sentence can follow", () => {
    const texts: Readonly<Record<string, string>> = chinese;
    const words = [
      ...(Object.keys(RULES) as RuleName[]).map(wordsOf),
      ...Object.values(SENT_AS).map((how) => how.words),
    ];
    const isWhole = (english: string) => english.endsWith(".") && /\p{Script=Han}.*。$/u.test(texts[english] ?? "");
    const wrongWords = words.filter((each) => each !== "" && !isWhole(each));
    expect(wrongWords).toEqual([]);
  });

  it.each(DOCUMENTED.map(({ operation, documentation }) => [operation.wireName, operation, documentation] as const))(
    "there are words for every violation of the fields of %s",
    (_, operation, { examples, probes }) => {
      const [example] = Object.values(examples);
      const violations = operation.fieldNames.flatMap((name) =>
        [...WRONG, ...(probes?.()[name]?.outside ?? [])].flatMap((value) =>
          violationsOf(operation.read({ ...example?.fields, [name]: value })),
        ),
      );
      expect(violations.length).toBeGreaterThan(20);
      expect(violations.flatMap(unknownOf)).toEqual([]);
    },
  );

  it("there are words for violations of timestamp, ranstr, signature, body and Idempotency-Key", () => {
    const violations = [
      ...WRONG.flatMap((value) => [
        ...violationsOf(checkFreshness({ timestamp: value, ranstr: "r" }, 1_000, 300)),
        ...violationsOf(checkFreshness({ timestamp: 1_000, ranstr: value }, 1_000, 300)),
      ]),
      ...["", "\ufeff{}", "[]", "{", "{}"].flatMap((body) =>
        violationsOf(readFields(new TextEncoder().encode(body).buffer as ArrayBuffer, undefined)),
      ),
      ...violationsOf(readFields(Uint8Array.of(0xff).buffer, undefined)),
      ...[undefined, "", "abc", `sha256=${"0".repeat(64)}`, `0x${"0".repeat(64)}`, `${"A".repeat(43)}=`, "?"].map(
        (signature) => [violationOfShape(signature)].filter((violation) => violation !== undefined),
      ),
      ...violationsOf(readIdempotencyKey("")),
    ];
    expect(violations.length).toBeGreaterThan(40);
    expect(violations.flatMap(unknownOf)).toEqual([]);
  });

  it("a violation names the field, the item and the type that was sent, in one text per fault", () => {
    const violations: Violation[] = [
      { field: "sbs", rule: "required" },
      { field: "kefu_id", item: 2, rule: "integer_within", values: [1, 9007199254740991], sentAs: "string" },
      { field: "title", rule: "text_within", values: [1, 120], mayBeLeftOut: true },
    ];
    expect(violationTexts(CHINESE, violations)).toEqual([
      "sbs：必填，但没有发送。",
      "kefu_id 第 2 项：须为 1 到 9007199254740991 的整数。发送的是字符串。",
      "title：须为 1 到 120 个字符的字符串。不填时请省略该字段。",
    ]);
    const second = "kefu_id, item 2, must be a whole number from 1 to 9007199254740991. It was sent as a string.";
    expect(violationTexts(ENGLISH, violations)[1]).toBe(second);
    // Journal rows from before `sentAs`.
    const { sentAs: _, ...before } = { ...violations[1], rule: "integer_within" as const, asString: true as const };
    expect(violationTexts(ENGLISH, [before])).toEqual([second]);
  });

  it("a violation says why agents are left out, each reason once", () => {
    const leftOut: LeftOutAgent[] = [
      { id: 1, why: "already on the session" },
      { id: 99, why: "unknown" },
      { id: 4, why: "disabled" },
      { id: 98, why: "unknown" },
    ];
    expect(leftOutText(ENGLISH, leftOut)).toBe("Unknown on this site: 99, 98. Disabled: 4. On the session already: 1.");
    const nobody: Violation = { field: "kefu_ids", rule: "agent_to_add", agents: leftOut };
    expect(violationTexts(CHINESE, [nobody])).toEqual([
      "kefu_ids：没有可添加的客服。本站点没有的客服：99、98。已停用的客服：4。已在会话中的客服：1。",
    ]);
    for (const agents of [leftOut, []]) {
      expect(
        unknownOf([
          { ...nobody, agents },
          { field: "kefu_id", rule: "agents_fit", agents },
        ]),
      ).toEqual([]);
    }
  });
});

describe("a row of the journal in the reader's language", () => {
  it("a journal row has a sentence for each of its violations", () => {
    const sentences: Violation[] = [
      { rule: "site_open" },
      { rule: "home_open", values: ["eu-1"] },
      { rule: "home_bound", values: ["eu-1", "HOME_EU_1"] },
    ];
    expect(sentences.map((violation) => [violation]).flatMap(unknownOf)).toEqual([]);
    expect(refusalTexts(ENGLISH, { detail: describeViolations(sentences), violations: sentences })).toEqual([
      "The site is closed.",
      "The home eu-1 is closed.",
      "The home eu-1 has no database: bind it as HOME_EU_1.",
    ]);
  });

  it("a journal row quotes what was cut off, what has no violation, and a rule of another release", () => {
    const violations: Violation[] = [{ field: "sbs", rule: "required" }];
    expect(refusalTexts(ENGLISH, { detail: "sbs: is required; sbs_mc: is req", violations })).toEqual([
      "sbs is missing.",
      "“sbs_mc: is req”",
    ]);
    const purple = { detail: "sbs: is purple", violations: [{ field: "sbs", rule: "green" as "json" }] };
    for (const row of [purple, { ...purple, violations: [] }]) {
      expect(refusalTexts(CHINESE, row)).toEqual(["“sbs: is purple”"]);
    }
    const later = [
      {
        detail: "kefu_id: 7 busy",
        violations: [{ field: "kefu_id", rule: "agents_fit", agents: [{ id: 7, why: "busy" }] }],
      },
      { detail: "timestamp: must be near", violations: [{ field: "timestamp", rule: "near_now", values: [300] }] },
      { detail: "sbs: is required, not green", violations: [{ field: "sbs", rule: "required", sentAs: "green" }] },
    ] as unknown as Parameters<typeof refusalTexts>[1][];
    for (const row of later) expect(refusalTexts(ENGLISH, row)).toEqual([`“${row.detail}”`]);
    expect(refusalTexts(CHINESE, { detail: null, violations: null })).toEqual([]);
  });
});

/** Every reason that the code of signed calls names. */
function reasonsInCode(): Set<string> {
  const namedReasons = Object.values(SOURCES).flatMap((source) =>
    [...source.matchAll(/(?:refused\(\s*"\w+",|reason: |replayed\(|unreadable\()\s*"(\w+)"/g)].map(
      ([, reason]) => reason,
    ),
  );
  const signature = SOURCES["../../../src/core/signed/authenticate.ts"]?.match(/reason: ("\w+"( \| )?)+/)?.[0] ?? "";
  return new Set([
    ...namedReasons.map(String),
    ...[...signature.matchAll(/"(\w+)"/g)].map(([, reason]) => String(reason)),
    ...OPERATIONS.flatMap(({ refusals }) => Object.keys(refusals)),
  ]);
}

/** Not refusals of a signed call: no operation has the path or method, `appid_missing` is logged as `body_appid_missing`, and only
 * operators are refused for `changed_meanwhile`. */
const OTHERS = ["method_not_allowed", "route_not_found", "appid_missing", "changed_meanwhile"];

describe("a reason in words", () => {
  it("every reason that the code names has words and a cure in both languages", () => {
    const reasons = [...reasonsInCode().union(new Set(REFUSAL_REASONS))].filter((reason) => !OTHERS.includes(reason));
    expect(reasons.length).toBeGreaterThan(30);
    const reasonsWithout = reasons.filter((reason) => {
      const [english, words] = [reasonText(ENGLISH, reason), reasonText(CHINESE, reason)];
      return (
        english.what === `It was refused for ${reason}.` || ![words.what, words.cure].every((text) => HAN.test(text))
      );
    });
    expect(reasonsWithout).toEqual([]);
  });

  it("an unknown reason is shown as it is", () => {
    expect(reasonText(ENGLISH, "purple").what).toBe("It was refused for purple.");
    expect(reasonText(CHINESE, "constructor").what).toContain("constructor");
  });
});
