import { describeViolations } from "../../core/describe-violations.ts";
import { MAX_BODY_BYTES } from "../../core/parse-json.ts";
import type { Result } from "../../core/result.ts";
import type { Violation } from "../../core/rules.ts";
import { checkFreshness, type Freshness } from "../../core/signed/check-freshness.ts";
import { readFields } from "../../core/signed/read-fields.ts";
import type { CheckedOperation } from "./check-as-caller.ts";

/** A shorter ranstr is named: by chance, two calls of one half hour may have the same. */
const SHORT_RANSTR = 16;

/** The tolerance of a service whose operator set no other, in seconds. */
const TOLERANCE = 300;

/** What the service would refuse of recorded bodies. Holds no value of theirs. */
interface CheckedBodies {
  bodies: number;
  passed: number;
  /** By the text of `x-error-detail`: how many lines have it, and the first of them, from 1. */
  refusals: Map<string, { lines: number; first: number }>;
  shortRanstrs: number;
}

/**
 * Checks the form and the fields of recorded bodies, one a line. A line's CR, a mark at the start of the file and empty lines belong to no
 * body. Only a timestamp that is ahead of `now` is refused, because every recording is old.
 *
 * @param operations what the bodies may call. Of several, a body is checked as the one that has most of its fields
 * @param now Unix seconds
 * @param nonceSeconds how long a ranstr is remembered
 */
export function checkBodies(
  file: Uint8Array<ArrayBuffer>,
  operations: readonly CheckedOperation[],
  now: number,
  nonceSeconds: number,
): CheckedBodies {
  const checked: CheckedBodies = { bodies: 0, passed: 0, refusals: new Map(), shortRanstrs: 0 };
  const usedAt = new Map<string, number>();
  for (const { line, body } of linesOf(file)) {
    const { violations, nonce } = readRecorded(body, operations, now);
    if (nonce !== undefined) {
      const key = JSON.stringify([nonce.appid, nonce.ranstr]);
      const before = usedAt.get(key);
      usedAt.set(key, nonce.timestamp);
      const isUsed = before !== undefined && Math.abs(nonce.timestamp - before) <= nonceSeconds;
      if (isUsed) violations.push({ field: "ranstr", rule: "used_once" });
      if (nonce.ranstr.length < SHORT_RANSTR) checked.shortRanstrs++;
    }
    checked.bodies++;
    if (violations.length === 0) checked.passed++;
    for (const detail of new Set(violations.map((violation) => describeViolations([violation])))) {
      const { lines, first } = checked.refusals.get(detail) ?? { lines: 0, first: line };
      checked.refusals.set(detail, { lines: lines + 1, first });
    }
  }
  return checked;
}

/** What a person reads of the check: the most frequent refusal first. */
export function describeBodies({ bodies, passed, refusals, shortRanstrs }: CheckedBodies): string[] {
  const byCount = [...refusals].sort(([, a], [, b]) => b.lines - a.lines || a.first - b.first);
  return [
    `${passed} of ${bodies} ${bodies === 1 ? "body passes" : "bodies pass"}.`,
    ...(byCount.length === 0 ? [] : ["", "  lines  first at line  x-error-detail"]),
    ...byCount.map(([detail, { lines, first }]) => `${`${lines}`.padStart(7)}  ${`${first}`.padStart(13)}  ${detail}`),
    ...(shortRanstrs === 0
      ? []
      : [
          "",
          `${shortRanstrs} of them ${shortRanstrs === 1 ? "has" : "have"} a ranstr of less than ${SHORT_RANSTR} characters. It is accepted, but two calls within half an hour must not have the same: the second is 401.`,
        ]),
  ];
}

function* linesOf(file: Uint8Array<ArrayBuffer>): Iterable<{ line: number; body: Uint8Array<ArrayBuffer> }> {
  const hasMark = file[0] === 0xef && file[1] === 0xbb && file[2] === 0xbf;
  let line = 0;
  for (let start = hasMark ? 3 : 0; start < file.length; ) {
    line++;
    const newline = file.indexOf(0x0a, start);
    const end = newline < 0 ? file.length : newline;
    const body = file.slice(start, end > start && file[end - 1] === 0x0d ? end - 1 : end);
    if (body.length > 0) yield { line, body };
    start = end + 1;
  }
}

/** `nonce` is set when the timestamp and the ranstr have the right form. */
function readRecorded(
  body: Uint8Array<ArrayBuffer>,
  operations: readonly CheckedOperation[],
  now: number,
): { violations: Violation[]; nonce?: Freshness & { appid: string } } {
  if (body.length > MAX_BODY_BYTES) {
    return { violations: [{ field: "body", rule: "bytes_at_most", values: [MAX_BODY_BYTES] }] };
  }
  const readings = operations.map((operation) => ({
    operation,
    fields: readFields(body.buffer, operation.exactField),
  }));
  const { operation, fields } = readings.reduce((best, each) => (countFields(each) > countFields(best) ? each : best));
  if (!fields.ok) return { violations: brokenBy(fields) };
  const fresh = checkFreshness(fields.value, now, TOLERANCE);
  const form = fresh.ok || fresh.reason === "timestamp_stale" ? [] : brokenBy(fresh);
  const violations = [...form, ...brokenBy(operation.read(fields.value))];
  return form.length > 0 ? { violations } : { violations, nonce: fields.value as Freshness & { appid: string } };
}

const brokenBy = (result: Result<unknown>): Violation[] =>
  result.ok ? [] : [result.violations].flat().filter((violation) => violation !== undefined);

const countFields = ({ operation, fields }: { operation: CheckedOperation; fields: Result<object> }) =>
  fields.ok ? operation.fieldNames.filter((name) => Object.hasOwn(fields.value, name)).length : 0;
