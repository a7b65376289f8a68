import { ARRIVAL_LIMIT_MS } from "../../core/http/read-body.ts";
import { DOCUMENTED, UNKNOWN_PATH } from "../../core/operations/index.ts";
import { MAX_BODY_BYTES } from "../../core/parse-json.ts";
import type { Result } from "../../core/result.ts";
import type { LeftOutAgent, Violation } from "../../core/rules.ts";
import { checkFreshness } from "../../core/signed/check-freshness.ts";
import { DRILL_BUSY, readDrill } from "../../core/signed/drill.ts";
import { readIdempotencyKey } from "../../core/signed/idempotency-key.ts";
import { readFields } from "../../core/signed/read-fields.ts";
import { violationOfShape } from "../../core/signed/violation-of-shape.ts";
import { violationText } from "../../operators/console/violation-texts.ts";
import type { Texts } from "./texts.ts";

/** The meaning of a violation, in the console's words. */
export const meaningOf = ({ t }: Pick<Texts, "t">, violation: Violation): string =>
  violationText({ t: (text, ...values) => t(text, ...values.map((value) => value ?? "")) }, violation);

/** The first violation of a refusal. @throws Error without one, which means that the rule has changed but not its example */
function refusedFor(result: Result<unknown>, fields: unknown): Violation {
  const [violation] = result.ok ? [] : (result.violations ?? []);
  if (violation === undefined) throw new Error(`${JSON.stringify(fields)} breaks no rule`);
  return violation;
}

/** The violation of a call whose first example is sent with other fields. */
function violationOf(wireName: string, change: Record<string, unknown>): Violation {
  const { operation, documentation } = DOCUMENTED.find((each) => each.operation.wireName === wireName) ?? {};
  const [example] = Object.values(documentation?.examples ?? {});
  if (operation === undefined || example === undefined) throw new Error(`there is no call ${wireName}`);
  return refusedFor(operation.read({ ...example.fields, ...change }), change);
}

const create = (change: Record<string, unknown>) => violationOf("create_gd", change);
const add = (kefu_ids: string) => violationOf("add_kf", { kefu_ids });
const body = (text: string | Uint8Array) =>
  refusedFor(readFields(Uint8Array.from(Buffer.from(text)).buffer, undefined), text);
const withTimestamp = (timestamp: unknown) =>
  refusedFor(checkFreshness({ timestamp, ranstr: "codex1033048655" }, 1_795_319_350, 300), timestamp);
const violationOfSignature = (signature?: string) => violationOfShape(signature) ?? { rule: "required" };

const UNFIT_AGENTS: LeftOutAgent[] = [
  { id: 777, why: "unknown" },
  { id: 10430, why: "disabled" },
];
const LEFT_OUT_AGENTS: LeftOutAgent[] = [...UNFIT_AGENTS, { id: 10411, why: "already on the session" }];

interface ExampleGroup {
  about: string;
  violations: Violation[];
}

/** The code that refuses a call makes these violations, so their values are those of its rules. */
const CHOSEN_EXAMPLES: ExampleGroup[] = [
  {
    about: "Path, headers and body",
    violations: [
      UNKNOWN_PATH,
      { field: "method", rule: "method", values: ["POST"] },
      violationOfSignature(),
      violationOfSignature(`sha256=${"0".repeat(64)}`),
      violationOfSignature("0".repeat(40)),
      violationOfSignature(`${"A".repeat(43)}=`),
      violationOfSignature("?"),
      violationOfSignature("?, ?"),
      { field: "Content-Type", rule: "json_type", values: ["application/x-www-form-urlencoded"] },
      { field: "Content-Type", rule: "json_type_missing" },
      { field: "Content-Type", rule: "json_type_unreadable" },
      { field: "Content-Encoding", rule: "absent" },
      { field: "body", rule: "bytes_at_most", values: [MAX_BODY_BYTES] },
      { field: "body", rule: "within_seconds", values: [ARRIVAL_LIMIT_MS / 1000] },
      { field: "body", rule: "whole" },
      body(Uint8Array.of(0xff)),
      body(Uint8Array.of(0x1f, 0x8b)),
      body(Uint8Array.of(0xff, 0xfe)),
      body("\ufeff{}"),
      body("{,}"),
      body("{"),
      body("[]"),
      body(JSON.stringify("{}")),
    ],
  },
  {
    about: "timestamp, ranstr, Idempotency-Key and x-drill",
    violations: [
      withTimestamp(1),
      withTimestamp(1_795_319_350_000),
      withTimestamp("1"),
      { field: "ranstr", rule: "used_once" },
      refusedFor(readIdempotencyKey(""), "Idempotency-Key"),
      { field: "Idempotency-Key", rule: "key_of_one_request" },
      refusedFor(readDrill("", true), "x-drill"),
      refusedFor(readDrill("busy", false), "x-drill"),
      refusedFor(DRILL_BUSY, "x-drill"),
    ],
  },
  {
    about: "Fields",
    violations: [
      create({ sbs_mc: undefined }),
      body('{"appid":""}'),
      create({ sbs_mc: "\ud800" }),
      create({ title: "" }),
      create({ sbs_mc: "" }),
      create({ sbs: "" }),
      create({ ip: "localhost" }),
      violationOf("add_kf", { chat_id: "900220" }),
      create({ sender_type: 4 }),
      create({ metadata: [] }),
      create({ metadata: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`key${i}`, ""])) }),
      create({ metadata: { order: "A-17", count: 1 } }),
      create({ metadata: { "": "" } }),
    ],
  },
  {
    about: "Agents and sessions",
    violations: [
      create({ kefu_id: "10411" }),
      create({ kefu_id: { id: 10411 } }),
      create({ kefu_id: [10411, "10427"] }),
      create({ fzr_uid: 1 }),
      add(""),
      add("10427,x"),
      add("10427，10428"),
      add("10427;10428"),
      add("10427,,10428"),
      add("10427,10428,"),
      { rule: "site_open" },
    ],
  },
];

/** The violations of each operation's own rules, and those of the wrong values that its documentation shows. */
const operationViolations = (): Violation[] =>
  DOCUMENTED.flatMap(({ operation, documentation: { probes } }) => [
    ...Object.values(operation.refusals).map(({ violation }) =>
      violation({ named: UNFIT_AGENTS, leftOut: LEFT_OUT_AGENTS }),
    ),
    ...Object.entries(probes?.() ?? {}).flatMap(([field, { outside }]) =>
      outside.map((value) => violationOf(operation.wireName, { [field]: value })),
    ),
  ]);

/**
 * Violations as callers get them, grouped by subject: those of CHOSEN_EXAMPLES, and one for each further rule of an operation.
 * test/tools/docs/glossary.test.ts names a rule of src/core/rules.ts that has none.
 */
export const VIOLATION_EXAMPLES: ExampleGroup[] = withFurtherRules(CHOSEN_EXAMPLES, operationViolations());

function withFurtherRules(groups: ExampleGroup[], violations: Violation[]): ExampleGroup[] {
  const shown = new Set(groups.flatMap((group) => group.violations.map(({ rule }) => rule)));
  const further = violations.filter(({ rule }) => !shown.has(rule) && shown.add(rule));
  return groups.map((group, i) =>
    i < groups.length - 1 ? group : { ...group, violations: [...group.violations, ...further] },
  );
}

/** All English words that the meanings of the examples use. */
export function detailWords(): string[] {
  const words = new Set<string>();
  const t = (english: string, ...values: (string | number)[]) => {
    words.add(english);
    return english.replace(/\{(\d)\}/g, (_, index) => String(values[Number(index)] ?? ""));
  };
  for (const violation of VIOLATION_EXAMPLES.flatMap(({ violations }) => violations))
    for (const each of [violation, violation.key === undefined ? violation : { ...violation, key: "one" as const }])
      meaningOf({ t }, each);
  return [...words];
}
