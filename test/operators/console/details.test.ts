import { describe, expect, it } from "vitest";
import chinese from "../../../src/assets/console/zh.json";
import { describeLeftOut } from "../../../src/core/operations/describe-left-out.ts";
import { DOCUMENTED, OPERATIONS } from "../../../src/core/operations/index.ts";
import type { LeftOutAgent } from "../../../src/core/operations/operation.ts";
import { checkFreshness } from "../../../src/core/signed/check-freshness.ts";
import { describeShape } from "../../../src/core/signed/describe-shape.ts";
import { readIdempotencyKey } from "../../../src/core/signed/idempotency-key.ts";
import { readFields } from "../../../src/core/signed/read-fields.ts";
import { detailTexts, leftOutText } from "../../../src/operators/console/details.ts";
import { reasonText } from "../../../src/operators/console/reasons.ts";
import type { View } from "../../../src/operators/console/view.ts";
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

/** The faults of a detail for which the console has no words in one of the languages. */
const unknownIn = (detail: string) => [
  ...detailTexts(ENGLISH, detail).filter((text) => text.startsWith("“")),
  ...detailTexts(CHINESE, detail).filter((text) => !HAN.test(text)),
];

/** Values that break one rule or another. */
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

const detailOf = (result: { ok: boolean; detail?: string }) => (result.ok ? [] : [result.detail ?? ""]);

describe("a detail in the reader's language", () => {
  it.each(DOCUMENTED.map(({ operation, documentation }) => [operation.wireName, operation, documentation] as const))(
    "has words for every rule of the fields of %s",
    (_, operation, { examples, probes }) => {
      const [example] = Object.values(examples);
      const details = operation.fieldNames.flatMap((name) =>
        [...WRONG, ...(probes?.()[name]?.outside ?? [])].flatMap((value) =>
          detailOf(operation.read({ ...example?.fields, [name]: value })),
        ),
      );
      expect(details.length).toBeGreaterThan(20);
      expect([...new Set(details)].flatMap(unknownIn)).toEqual([]);
    },
  );

  it("has words for the rules of the timestamp, the ranstr, the signature, the body and the Idempotency-Key", () => {
    const details = [
      ...WRONG.flatMap((value) => [
        ...detailOf(checkFreshness({ timestamp: value, ranstr: "r" }, 1_000, 300)),
        ...detailOf(checkFreshness({ timestamp: 1_000, ranstr: value }, 1_000, 300)),
      ]),
      ...["", "\ufeff{}", "[]", "{", "{}"].flatMap((body) =>
        detailOf(readFields(new TextEncoder().encode(body).buffer as ArrayBuffer, undefined)),
      ),
      ...detailOf(readFields(Uint8Array.of(0xff).buffer, undefined)),
      ...[undefined, "", "abc", `sha256=${"0".repeat(64)}`, `0x${"0".repeat(64)}`, `${"A".repeat(43)}=`, "?"].map(
        (signature) => describeShape(signature) ?? "",
      ),
      ...detailOf(readIdempotencyKey("")),
    ];
    expect(details.flatMap(unknownIn)).toEqual([]);
  });

  it("has words for every rule that is written in the code", () => {
    const files = Object.keys(SOURCES).filter((path) => /fields\.ts|operations|signed|read-body/.test(path));
    const rules = files.flatMap((file) =>
      [
        ...String(SOURCES[file]).matchAll(
          /(["'`])((?:[\w-]+: )?(?:must |no such |is |has |was |ended |the session has )[^\n]*?)\1/g,
        ),
      ]
        // Rules of operators' forms: ruleText() has their words.
        .map(([, , rule = ""]) => rule.replaceAll(/\$\{[^}]*\}/g, "7"))
        .filter((rule) => !/visible and none|^is not a field/.test(rule))
        // Its last part stands in a function of its own.
        .map((rule) => rule.replace(/hex digits, 7$/, "hex digits, not 7")),
    );
    expect(rules.length).toBeGreaterThan(25);
    const inWhole = rules.map((rule) => (/^[\w-]+: /.test(rule) ? rule : `field: ${rule}`));
    expect(inWhole.flatMap(unknownIn)).toEqual([]);
  });

  it("names the field, the item and how it was sent, one text for each fault", () => {
    const detail =
      "sbs: is required; kefu_id: item 2 must be an integer from 1 to 9007199254740991, not a string; title: must be a string of 1 to 120 characters, or left out";
    expect(detailTexts(CHINESE, detail)).toEqual([
      "sbs：必填，但没有发送。",
      "kefu_id 第 2 项：须为 1 到 9007199254740991 的整数。发送的是字符串。",
      "title：须为 1 到 120 个字符的字符串。不填时请省略该字段。",
    ]);
    expect(detailTexts(ENGLISH, detail)[1]).toBe(
      "kefu_id, item 2, must be a whole number from 1 to 9007199254740991. It was sent as a string.",
    );
  });

  it("says why agents are left out, each kind once", () => {
    const leftOut: LeftOutAgent[] = [
      { id: 1, why: "already on the session" },
      { id: 99, why: "unknown" },
      { id: 4, why: "disabled" },
      { id: 98, why: "unknown" },
    ];
    const said = describeLeftOut(leftOut);
    expect(leftOutText(ENGLISH, said)).toBe("Unknown on this site: 99, 98. Disabled: 4. On the session already: 1.");
    expect(detailTexts(CHINESE, `kefu_ids: nobody to add: ${said}`)).toEqual([
      "kefu_ids：没有可添加的客服。本站点没有的客服：99、98。已停用的客服：4。已在会话中的客服：1。",
    ]);
    const many = describeLeftOut(Array.from({ length: 500 }, (_, i) => ({ id: 100_000 + i, why: "unknown" })));
    expect(leftOutText(ENGLISH, many)).toMatch(/ And \d+ more agents\.$/);
    expect(leftOutText(CHINESE, describeLeftOut([]))).toMatch(HAN);
  });

  it("quotes what it does not know", () => {
    expect(detailTexts(CHINESE, "sbs: is purple")).toEqual(["“sbs: is purple”"]);
    expect(detailTexts(CHINESE, "")).toEqual([]);
  });
});

/** Every reason that the code of a signed call names. */
function reasonsInCode(): Set<string> {
  const named = Object.values(SOURCES).flatMap((source) =>
    [...source.matchAll(/(?:refused\(\s*"\w+",|reason: |replayed\(|unreadable\()\s*"(\w+)"/g)].map(
      ([, reason]) => reason,
    ),
  );
  const signature = SOURCES["../../../src/core/signed/authenticate.ts"]?.match(/reason: ("\w+"( \| )?)+/)?.[0] ?? "";
  return new Set([
    ...named.map(String),
    ...[...signature.matchAll(/"(\w+)"/g)].map(([, reason]) => String(reason)),
    ...OPERATIONS.flatMap(({ refusals }) => Object.keys(refusals)),
  ]);
}

/** Not reasons of a signed call: no operation has this path or method. `appid_missing` is logged as `body_appid_missing`. Only
 * operators are refused for `changed_meanwhile`. */
const OTHERS = ["method_not_allowed", "route_not_found", "appid_missing", "changed_meanwhile"];

describe("a reason in words", () => {
  it("exists for every reason that the code names, with a cure, in both languages", () => {
    const reasons = [...reasonsInCode().union(new Set(REFUSAL_REASONS))].filter((reason) => !OTHERS.includes(reason));
    expect(reasons.length).toBeGreaterThan(30);
    const without = reasons.filter((reason) => {
      const [english, words] = [reasonText(ENGLISH, reason), reasonText(CHINESE, reason)];
      return (
        english.what === `It was refused for ${reason}.` || ![words.what, words.cure].every((text) => HAN.test(text))
      );
    });
    expect(without).toEqual([]);
  });

  it("is the word itself when nothing is known of it", () => {
    expect(reasonText(ENGLISH, "purple").what).toBe("It was refused for purple.");
    expect(reasonText(CHINESE, "constructor").what).toContain("constructor");
  });
});
