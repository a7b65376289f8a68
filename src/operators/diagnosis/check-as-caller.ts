import { detailOf } from "../../core/describe-violations.ts";
import { type SignedErrorCode, WIRE_ERRORS } from "../../core/errors.ts";
import type { Refused, Result } from "../../core/result.ts";
import { checkFreshness } from "../../core/signed/check-freshness.ts";
import type { Fields } from "../../core/signed/read-fields.ts";
import {
  type CheckStep,
  checkForm,
  checkIdempotencyKey,
  isUtf8,
  refusingStep,
  STEPS,
  type StepName,
} from "./check-form.ts";
import { checkTimestamp } from "./check-timestamp.ts";
import { diagnoseSignature, lineEndsOf } from "./diagnose-signature.ts";
import { type Bytes, decode } from "./encodings.ts";
import type { Finding, TextValue } from "./words.ts";

export interface CheckedOperation {
  wireName: string;
  path: string;
  exactField: string | undefined;
  fieldNames: readonly string[];
  read: (fields: Record<string, unknown>) => Result<unknown>;
}

/** A request as its caller knows it. */
export interface CallersRequest {
  /** Without an operation, the fields are not checked. */
  operation?: CheckedOperation | undefined;
  /** All operations. Their field names are in the order of the documentation. */
  operations?: readonly CheckedOperation[];
  body: Bytes;
  /** Whether the line ends of `body` are those that were sent. A form of a page does not keep them. */
  lineEndsKept?: boolean;
  signature: string;
  secret: string;
  /** The appid that the operator gave. Without it, the appid of the body counts as right. */
  appid?: string | undefined;
  /** Headers: null when absent, undefined when not known. */
  contentType?: string | null | undefined;
  contentEncoding?: string | null | undefined;
  idempotencyKey?: string | null | undefined;
  /** Unix seconds. */
  now: number;
  /** Seconds that a timestamp may be off. */
  tolerance: number;
}

export interface Answer {
  status: number;
  message: string;
  code?: SignedErrorCode;
}

export interface CallersCheck {
  /** What the server answers now, as far as a caller can know. */
  answer: Answer;
  /** What it answers with a fresh timestamp; set when the timestamp is the cause. */
  fresh?: Answer;
  /** The conditions of this answer, to be shown beside it. */
  conditions: Finding[];
  /** The cause first, then what is also wrong, then what cannot be known, then what is fine; each in the route's order. */
  steps: CheckStep[];
}

const WORDS = {
  appid_right: "{0}, as given.",
  appid_in_body: "{0}. Whether the service has an app of this name, only the server knows.",
  appid_blank: "The body has {0}, the app is {1}: there is a blank or another invisible character in the body's appid.",
  appid_case: "The body has {0}, the app is {1}: upper and lower case differ.",
  appid_other: "The body has {0}, the app is {1}. Look for a slip in copying, or for another environment's appid.",
  no_match:
    "The secret given does not make this signature of this body, nor of any usual change of either. The secret is another one, or the body was changed after it was signed. Sign the very bytes you send, with the secret shown when the app was issued or last rotated.",
  freshness_form: "{0}",
  server:
    "Only the server knows whether the app is known and in force and its site open, whether the ranstr was used before, whether a limit is reached, and what the agents and sessions of the fields are.",
  fields_unknown: "Not checked: the call was not named.",
  fields_right: "All as they should be.",
  fields_wrong: "{0}",
  secret_edges:
    "The secret given begins or ends with a blank, a line end or a quotation mark, and was taken as it is. If the operator's secret does not, the server answers 401: check again with the secret alone.",
  line_ends:
    "This holds if the line ends of the body that was sent are {0}. With {1} the server answers 401: choose the file to be sure.",
  fields_of_other: "The body looks like one of {0}, but was checked as one of {1}.",
} as const;

export const CALLER_TEXTS: readonly string[] = Object.values(WORDS).filter((words) => words !== "{0}");

type Name = keyof typeof WORDS;
const checkStep = (step: StepName, name: Name, ...values: TextValue[]): CheckStep => ({
  step,
  name,
  words: WORDS[name],
  values,
});

/** A step that the server refuses with violations. */
const refusedFor = (step: StepName, name: Name, refused: Refused): CheckStep =>
  refusingStep({ ...checkStep(step, name, String(detailOf(refused))), violations: refused.violations }, refused.code);

const ACCEPTED: Answer = { status: 200, message: "ok" };

/**
 * Runs the steps of a signed request for which a caller has the data, and names the cause of the refusal. The steps and their order are
 * those of run-request.ts. Makes no calls and changes nothing.
 */
export async function checkAsCaller(request: CallersRequest): Promise<CallersCheck> {
  const { operation, body, contentType, contentEncoding } = request;
  const form = checkForm({ body, contentType, contentEncoding, exactField: operation?.exactField });
  const { step: signature, conditions } = await signatureStep(request);
  const steps = [...form.steps, signature];
  if (form.fields !== undefined) {
    const { fields } = form;
    steps.push(appidStep(fields, request.appid?.trim()), timestampStep(fields, request), checkStep("server", "server"));
    steps.push(fieldsStep(fields, request), checkIdempotencyKey(request.idempotencyKey));
  }
  steps.sort((a, b) => STEPS.indexOf(a.step) - STEPS.indexOf(b.step));
  const refusals = steps.filter(({ refusal }) => refusal !== undefined);
  const [cause, next] = refusals;
  const rest = steps.filter(({ refusal }) => refusal === undefined);
  const unknown = rest.filter(isUnknown);
  const ordered = [...refusals, ...unknown, ...rest.filter((step) => !isUnknown(step))];
  const isStale = cause?.step === "timestamp" && cause.refusal?.code === "token_invalid";
  return { answer: answerOf(cause), conditions, steps: ordered, ...(isStale && { fresh: answerOf(next) }) };
}

const isUnknown = ({ step, name }: CheckStep) => step === "server" || name === "fields_unknown";

function answerOf(refused: CheckStep | undefined): Answer {
  if (refused?.refusal === undefined) return ACCEPTED;
  const { code, status } = refused.refusal;
  return { status, message: WIRE_ERRORS[code].message, code };
}

/** Characters that a secret gets at its ends when it is copied. An issued secret has none of them. */
const BLANK_OR_QUOTE_AT_EDGE = /^[\s"'`]|[\s"'`]$/;

async function signatureStep(request: CallersRequest): Promise<{ step: CheckStep; conditions: Finding[] }> {
  const { body, signature, secret, appid, operation, operations = [], lineEndsKept = true, now } = request;
  const text = decode(body);
  const documented = ["appid", "timestamp", "ranstr", ...operations.flatMap(({ fieldNames }) => fieldNames)];
  const pasted = {
    body: text,
    signature,
    lineEndsKept,
    ...(isUtf8(body) ? {} : { bytes: body }),
    ...(appid && { appid }),
    ...(operation && { operation }),
  };
  const secrets = [{ slot: "current", secret, expiresAt: Number.POSITIVE_INFINITY }] as const;
  const { findings, valid, match } = await diagnoseSignature(pasted, secrets, documented, now);
  const lineEnds = valid && match !== undefined ? lineEndsOf(match.body) : undefined;
  const conditions: Finding[] = [
    ...(BLANK_OR_QUOTE_AT_EDGE.test(secret) ? [{ name: "secret_edges", words: WORDS.secret_edges }] : []),
    ...(lineEnds ? [{ name: "line_ends", words: WORDS.line_ends, values: [lineEnds.fits, lineEnds.other] }] : []),
  ];
  const [first, ...more] = findings.map(
    (finding): Finding => (finding.name === "no_match" ? { name: "no_match", words: WORDS.no_match } : finding),
  );
  const step: CheckStep = { ...checkStep("signature", "no_match"), ...first, more };
  return { step: valid ? step : refusingStep(step, "token_invalid"), conditions };
}

function appidStep({ appid }: Fields, givenAppid: string | undefined): CheckStep {
  if (givenAppid === undefined || givenAppid === "") return checkStep("appid", "appid_in_body", JSON.stringify(appid));
  if (appid === givenAppid) return checkStep("appid", "appid_right", appid);
  const withoutUnseen = (text: string) => text.replace(/[\s\u00ad\u200b-\u200f\u2060\ufeff]/g, "");
  const sameBut = (change: (text: string) => string) => change(appid) === change(givenAppid);
  const name = sameBut(withoutUnseen)
    ? "appid_blank"
    : sameBut((text) => withoutUnseen(text).toLowerCase())
      ? "appid_case"
      : "appid_other";
  return refusingStep(checkStep("appid", name, JSON.stringify(appid), JSON.stringify(givenAppid)), "token_invalid");
}

function timestampStep(fields: Fields, { now, tolerance }: CallersRequest): CheckStep {
  const fresh = checkFreshness(fields, now, tolerance);
  if (!fresh.ok && fresh.code === "invalid_parameters") return refusedFor("timestamp", "freshness_form", fresh);
  const step: CheckStep = { step: "timestamp", ...checkTimestamp(Number(fields.timestamp), now, tolerance) };
  return fresh.ok ? step : refusingStep(step, fresh.code);
}

function fieldsStep(fields: Fields, { operation, operations = [] }: CallersRequest): CheckStep {
  if (operation === undefined) return checkStep("fields", "fields_unknown");
  const countKnownFields = ({ fieldNames }: CheckedOperation) =>
    fieldNames.filter((name) => Object.hasOwn(fields, name)).length;
  const betterFit = operations.find((each) => countKnownFields(each) > countKnownFields(operation));
  const wrongOperation = betterFit
    ? [{ name: "fields_of_other", words: WORDS.fields_of_other, values: [betterFit.wireName, operation.wireName] }]
    : [];
  const operationInput = operation.read(fields);
  if (operationInput.ok) return { ...checkStep("fields", "fields_right"), more: wrongOperation };
  return { ...refusedFor("fields", "fields_wrong", operationInput), more: wrongOperation };
}
