import { AgentSessionError, type AgentSessionErrorCode } from "./agent-session-error.ts";
import { inOwnNames, type OwnNames } from "./field-names.ts";
import type { AnswerBody, AnswerHeaders, FetchedAnswer } from "./platform.ts";
import { datesOf, retryAfterOf } from "./retry-after.ts";

/** An answer of the service, a success or a refusal. */
export interface WireAnswer {
  status: number;
  headers: AnswerHeaders;
  /** `code` is 1 for a success and -1 for a refusal. */
  envelope: { code: number; msg: string; data: unknown };
  /** `x-request-id`, to quote to the operator. */
  requestId: string | undefined;
}

/**
 * The meaning of the service's messages. A message says more than the status, and the status may always be 200. This is a Map, because
 * an object would also find the message "constructor".
 */
const BY_MESSAGE: ReadonlyMap<string, { code: AgentSessionErrorCode; english: string }> = new Map([
  ["参数错误", { code: "invalid_parameters", english: "invalid parameters" }],
  ["token验证失败!", { code: "token_invalid", english: "token verification failed" }],
  ["会话不存在", { code: "session_not_found", english: "the session does not exist" }],
  ["当前状态不允许操作", { code: "state_forbids", english: "the present state does not allow this" }],
  ["请求过于频繁", { code: "too_many_requests", english: "requests come too often" }],
  ["系统错误", { code: "internal", english: "system error" }],
  ["服务暂时不可用", { code: "unavailable", english: "the service is unavailable for now" }],
  ["接口不存在", { code: "unexpected", english: "no such interface" }],
  ["请求方法错误", { code: "unexpected", english: "wrong request method" }],
]);

const BY_STATUS: Readonly<Record<number, AgentSessionErrorCode>> = {
  400: "invalid_parameters",
  401: "token_invalid",
  404: "session_not_found",
  409: "state_forbids",
};

/** In bytes. Answers of the service have a few hundred bytes. A longer answer is from another server, and could fill the memory. */
const LONGEST_ANSWER = 1024 * 1024;

/**
 * Reads an answer and its envelope.
 *
 * @param called the address that was called, for the message of an error
 * @throws AgentSessionError when the answer is not from the service: `unavailable` for a 408 or a 5xx (a gateway without an answer from the
 *   service), `too_many_requests` for a 429, otherwise `unexpected`
 */
export async function readAnswer(response: FetchedAnswer, called: string): Promise<WireAnswer> {
  const { status, headers } = response;
  const text = await readText(response.body);
  const envelope = text === undefined ? undefined : parseEnvelope(text, status);
  const requestId = headers.get("x-request-id") ?? undefined;
  if (envelope !== undefined) return { status, headers, envelope, requestId };
  const code = isGateways(status) ? "unavailable" : status === 429 ? "too_many_requests" : "unexpected";
  const answerText = `HTTP ${status} with ${text === undefined ? "more than 1 MiB" : kindOf(headers)}`;
  throw new AgentSessionError(code, unexpectedAnswer(called, answerText), {
    status,
    requestId,
    retryAfter: retryAfterOf(headers),
  });
}

/** The message for an answer that this service never gives. */
export const unexpectedAnswer = (called: string, answerText: string): string =>
  `${called} did not get an answer of this service: ${answerText}`;

/**
 * The error for an envelope whose `code` is not 1. Its detail has this client's names for fields. Its message says in English what
 * happened, with the service's own message in brackets.
 */
export function errorOfRefusal(answer: WireAnswer, names: OwnNames, called: string): AgentSessionError {
  const { status, headers, envelope, requestId } = answer;
  const errorDetail = headers.get("x-error-detail") ?? undefined;
  const detail = errorDetail === undefined ? undefined : inOwnNames(errorDetail, names);
  const english = BY_MESSAGE.get(envelope.msg)?.english ?? "refused";
  const message = `${english} (${envelope.msg}) at ${called}${detail === undefined ? "" : `: ${detail}`}`;
  const context = { status, detail, requestId, retryAfter: retryAfterOf(headers) };
  return new AgentSessionError(codeOf(answer), message, context);
}

/** The service's time in Unix seconds, from a refusal of the timestamp; undefined for any other answer. */
export function clockOf({ headers, envelope }: WireAnswer): number | undefined {
  const detail = headers.get("x-error-detail") ?? "";
  if (BY_MESSAGE.get(envelope.msg)?.code !== "token_invalid" || !detail.startsWith("timestamp: ")) return undefined;
  const secondsText = /\bof (\d{1,12}), Unix seconds/.exec(detail)?.[1];
  if (secondsText !== undefined) return Number(secondsText);
  const [date] = datesOf(headers.get("date"));
  return date === undefined ? undefined : Math.floor(date / 1000);
}

/** Whether a wrong clock may be the cause of a refusal: true for the timestamp and the token, but not for a used ranstr. */
export function blamesTheTime(answer: WireAnswer): boolean {
  const detail = answer.headers.get("x-error-detail") ?? "";
  if (codeOf(answer) === "token_invalid") return !detail.startsWith("ranstr: ");
  return detail.startsWith("timestamp: ");
}

function codeOf({ status, headers, envelope }: WireAnswer): AgentSessionErrorCode {
  // A reused key has the same message as other bad parameters. When the status is always 200, only the detail shows the difference.
  const isOfKey = status === 200 && headers.get("x-error-detail")?.startsWith("Idempotency-Key: was used");
  if (status === 422 || isOfKey) return "idempotency_key_reused";
  return BY_MESSAGE.get(envelope.msg)?.code ?? BY_STATUS[status] ?? "unexpected";
}

/** Reads the envelope. A gateway's JSON may have `code` and `msg` too, so the status and the message must be those of the service. */
function parseEnvelope(text: string, status: number): WireAnswer["envelope"] | undefined {
  try {
    const value = JSON.parse(text) as Partial<WireAnswer["envelope"]> | null;
    if ((value?.code !== 1 && value?.code !== -1) || typeof value.msg !== "string") return undefined;
    if (value.code === 1 && status !== 200) return undefined;
    const known = BY_MESSAGE.has(value.msg);
    if (isGateways(status) && !(known && (status === 500 || status === 503))) return undefined;
    if (status === 429 && !known) return undefined;
    return { code: value.code, msg: value.msg, data: value.data };
  } catch {
    return undefined;
  }
}

const isGateways = (status: number) => status >= 500 || status === 408;

function kindOf(headers: AnswerHeaders): string {
  const location = headers.get("location");
  return location === null ? (headers.get("content-type") ?? "no content type") : `a redirect to ${location}`;
}

/** @returns undefined when the body is longer than {@link LONGEST_ANSWER}; the rest is not read */
async function readText(body: AnswerBody | null): Promise<string | undefined> {
  if (!body) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return text + decoder.decode();
    length += value.byteLength;
    if (length > LONGEST_ANSWER) {
      reader.cancel().catch(() => {});
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}
