import { type SignedErrorCode, WIRE_ERRORS } from "../../core/errors.ts";
import { isJsonMediaType, MAX_BODY_BYTES } from "../../core/parse-json.ts";
import type { Violation } from "../../core/rules.ts";
import { readIdempotencyKey } from "../../core/signed/idempotency-key.ts";
import { type Fields, readFields } from "../../core/signed/read-fields.ts";
import { asHeader, decode, encode } from "./encodings.ts";
import { causeOfBytes, causeOfText, causeOfValue, formOfText } from "./json-causes.ts";
import type { Finding, TextValue } from "./words.ts";

/** A step of the route, and what it finds. */
export interface CheckStep extends Finding {
  step: StepName;
  /** Set when this step refuses the request. */
  refusal?: { status: number; code: SignedErrorCode };
  /** What the server says to the caller. Absent when the step's words say the same. */
  violations?: readonly Violation[] | undefined;
  /** Further sentences. */
  more?: readonly Finding[];
}

/** The steps in the route's order. */
export const STEPS = [
  "content_type",
  "content_encoding",
  "size",
  "body",
  "appid",
  "signature",
  "timestamp",
  "server",
  "fields",
  "idempotency_key",
] as const;
export type StepName = (typeof STEPS)[number];

/** The part of a request that is read before its signature. */
export interface RequestForm {
  body: Uint8Array;
  /** The header; null when it was absent, undefined when that is not known. */
  contentType?: string | null | undefined;
  contentEncoding?: string | null | undefined;
  /** The field of the operation in which an integer is read as its digits. */
  exactField?: string | undefined;
}

const WORDS = {
  type_right: "application/json, as it must be.",
  type_unknown: "Not told. It must be application/json.",
  type_absent: "The header is absent. Send Content-Type: application/json.",
  type_form: "It is {0}: the request was sent as a form. Send JSON, with Content-Type: application/json.",
  type_text: "It is {0}, which many libraries send when no type is set. Set Content-Type: application/json.",
  type_other_json: "It is {0}. Only application/json is taken, with or without a charset after a semicolon.",
  type_other: "It is {0}. Send Content-Type: application/json.",
  type_assumed: "{0} A form has its own media type, which the server refuses before it reads the body.",
  encoding_absent: "Absent, as it must be.",
  encoding_present: "It is {0}. Send the body as it is, without this header: nothing is decompressed.",
  size_right: "{0} bytes of at most {1}.",
  size_too_large: "The body has {0} bytes; {1} are allowed.",
  body_right: "A JSON object with an appid.",
  bom: "A byte order mark stands before the JSON: send UTF-8 without BOM.",
  appid_missing: "The body has no appid, a string of 1 to 64 characters.",
  appid_named_otherwise: "The body has no appid, but {0}: write the name in lower case, appid.",
  appid_number: "The appid is a number. Send it as a string, in quotes.",
  appid_not_text: "The appid is no string. Send it as a string of 1 to 64 characters.",
  appid_empty: "The appid is empty: the variable with it was not set.",
  appid_too_long: "The appid is longer than 64 characters. Did another value take its place?",
  key_absent: "Absent: a retry of this call may do it twice.",
  key_right: "1 to 255 visible ASCII characters, as it must be.",
  key_empty:
    "It is empty: the variable with it was not set. Send 1 to 255 visible ASCII characters, or leave the header out.",
  key_blank: "It has a blank inside. Send 1 to 255 visible ASCII characters, such as a UUID.",
  key_too_long: "It has {0} characters. Send 1 to 255 visible ASCII characters, such as a UUID.",
  key_not_ascii:
    "It has a character that is not visible ASCII. Send 1 to 255 visible ASCII characters, such as a UUID.",
} as const;

export const FORM_TEXTS: readonly string[] = Object.values(WORDS);

type Name = keyof typeof WORDS;
const checkStep = (step: StepName, name: Name, ...values: TextValue[]): CheckStep => ({
  step,
  name,
  words: WORDS[name],
  values,
});

/** Lets a step refuse the request. */
export const refusingStep = (step: CheckStep, code: SignedErrorCode): CheckStep => ({
  ...step,
  refusal: { status: WIRE_ERRORS[code].status, code },
});

/**
 * What the server says of a request before it looks at the signature: one entry for each step, until a step after which nothing can be
 * read. An unknown header counts as right. Only a form-encoded body shows that its Content-Type was wrong.
 *
 * @returns the steps in the route's order, and the fields when the body has them
 */
export function checkForm({ body, contentType, contentEncoding, exactField }: RequestForm): {
  steps: CheckStep[];
  fields?: Fields;
} {
  const steps = [typeStep(body, contentType), encodingStep(contentEncoding), sizeStep(body)];
  if (body.length > MAX_BODY_BYTES) return { steps };
  const fields = readFields(Uint8Array.from(body).buffer, exactField);
  if (fields.ok) return { steps: [...steps, checkStep("body", "body_right")], fields: fields.value };
  return { steps: [...steps, refusingStep(bodyStep(body, fields.reason), fields.code)] };
}

/** What the server says of the header Idempotency-Key, which it reads after the fields. */
export function checkIdempotencyKey(header: string | null | undefined): CheckStep {
  const key = asHeader(header ?? "");
  const readKey = readIdempotencyKey(header === null || header === undefined ? undefined : key);
  if (readKey.ok) return checkStep("idempotency_key", readKey.value === null ? "key_absent" : "key_right");
  const name =
    key === ""
      ? "key_empty"
      : /[^\x20-\x7e]/.test(key)
        ? "key_not_ascii"
        : key.includes(" ")
          ? "key_blank"
          : "key_too_long";
  return refusingStep(checkStep("idempotency_key", name, key.length), readKey.code);
}

function typeStep(body: Uint8Array, contentType: string | null | undefined): CheckStep {
  if (contentType === undefined) {
    const form = formOfText(decode(body));
    const isForm = form?.name === "url_encoded" || form?.name === "multipart";
    if (!isForm) return checkStep("content_type", "type_unknown");
    return refusingStep(
      { ...checkStep("content_type", "type_assumed", form), name: form.name },
      "media_type_unsupported",
    );
  }
  const type = asHeader(contentType ?? "");
  if (isJsonMediaType(type)) return checkStep("content_type", "type_right");
  return refusingStep(checkStep("content_type", contentTypeMistake(type), type), "media_type_unsupported");
}

function contentTypeMistake(contentType: string): Name {
  if (contentType === "") return "type_absent";
  if (/^(?:application\/x-www-form-urlencoded|multipart\/form-data)/i.test(contentType)) return "type_form";
  if (/^text\/plain/i.test(contentType)) return "type_text";
  return /json/i.test(contentType) ? "type_other_json" : "type_other";
}

const encodingStep = (contentEncoding: string | null | undefined): CheckStep =>
  contentEncoding === undefined || contentEncoding === null
    ? checkStep("content_encoding", "encoding_absent")
    : refusingStep(checkStep("content_encoding", "encoding_present", contentEncoding), "media_type_unsupported");

function sizeStep({ length }: Uint8Array): CheckStep {
  if (length <= MAX_BODY_BYTES) return checkStep("size", "size_right", length, MAX_BODY_BYTES);
  return refusingStep(checkStep("size", "size_too_large", length, MAX_BODY_BYTES), "body_too_large");
}

/** @param reason why readFields refused the body */
function bodyStep(body: Uint8Array, reason: string): CheckStep {
  const text = decode(body);
  if (reason === "body_byte_order_mark") return checkStep("body", "bom");
  if (reason === "body_appid_missing") return appidMistake(JSON.parse(text) as Record<string, unknown>);
  const cause =
    reason === "body_not_utf8"
      ? causeOfBytes(body)
      : reason === "body_not_an_object"
        ? causeOfValue(text)
        : causeOfText(text);
  return { ...checkStep("body", "body_right"), ...cause };
}

function appidMistake(fields: Record<string, unknown>): CheckStep {
  const { appid } = fields;
  if (typeof appid === "string") return checkStep("body", appid === "" ? "appid_empty" : "appid_too_long");
  if (typeof appid === "number") return checkStep("body", "appid_number");
  if (appid !== undefined) return checkStep("body", "appid_not_text");
  const other = Object.keys(fields).find((name) => /^app[-_ ]?id$/i.test(name.trim()));
  return other === undefined
    ? checkStep("body", "appid_missing")
    : checkStep("body", "appid_named_otherwise", JSON.stringify(other));
}

/** Whether bytes are a text in UTF-8. */
export const isUtf8 = (body: Uint8Array): boolean => {
  const encodedAgain = encode(decode(body));
  return encodedAgain.length === body.length && encodedAgain.every((byte, index) => byte === body[index]);
};
