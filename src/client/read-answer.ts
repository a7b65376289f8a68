import { AgentSessionError, type AgentSessionErrorCode } from "./errors.ts";

/** What came back, whatever it says. */
export interface WireAnswer {
  status: number;
  headers: Headers;
  /** `code` is 1 for a success and -1 for a refusal. */
  envelope: { code: number; msg: string; data: unknown };
  /** `x-request-id`, to quote to the operator. */
  requestId: string | undefined;
}

/** The message names the cause more finely than the status, and is all there is when the service answers 200 always. */
const BY_MESSAGE: Readonly<Record<string, AgentSessionErrorCode>> = {
  参数错误: "invalid_parameters",
  "token验证失败!": "token_invalid",
  会话不存在: "session_not_found",
  当前状态不允许操作: "state_forbids",
  请求过于频繁: "too_many_requests",
  系统错误: "internal",
  服务暂时不可用: "unavailable",
  接口不存在: "unexpected",
  请求方法错误: "unexpected",
};

const BY_STATUS: Readonly<Record<number, AgentSessionErrorCode>> = {
  400: "invalid_parameters",
  401: "token_invalid",
  404: "session_not_found",
  409: "state_forbids",
  429: "too_many_requests",
  500: "internal",
  503: "unavailable",
};

/**
 * Takes the envelope out of an answer.
 *
 * @throws AgentSessionError when it is another's: `unavailable` for a 5xx (a proxy that found nobody behind it),
 *   `too_many_requests` for a 429, else `unexpected`
 */
export function readAnswer(response: Response, text: string): WireAnswer {
  const { status, headers } = response;
  const envelope = parseEnvelope(text);
  if (envelope !== undefined) return { status, headers, envelope, requestId: requestIdOf(headers) };
  const code = status >= 500 ? "unavailable" : status === 429 ? "too_many_requests" : "unexpected";
  const location = headers.get("location");
  const what = location === null ? (headers.get("content-type") ?? "no content type") : `a redirect to ${location}`;
  throw new AgentSessionError(code, `HTTP ${status} with ${what}: not an answer of this service`, {
    status,
    requestId: requestIdOf(headers),
    retryAfter: retryAfterOf(headers),
  });
}

/** The refusal an envelope with another `code` than 1 is. */
export function refusalOf({ status, headers, envelope, requestId }: WireAnswer): AgentSessionError {
  const detail = headers.get("x-error-detail") ?? undefined;
  return new AgentSessionError(codeOf(status, envelope.msg, detail), envelope.msg, {
    status,
    detail,
    requestId,
    retryAfter: retryAfterOf(headers),
  });
}

function codeOf(status: number, message: string, detail: string | undefined): AgentSessionErrorCode {
  // Its message is that of any other bad parameter; with status 200 only the detail tells them apart.
  if (status === 422 || (status === 200 && detail?.startsWith("Idempotency-Key: was used"))) {
    return "idempotency_key_reused";
  }
  return BY_MESSAGE[message] ?? BY_STATUS[status] ?? "unexpected";
}

function parseEnvelope(text: string): WireAnswer["envelope"] | undefined {
  try {
    const value = JSON.parse(text) as Partial<WireAnswer["envelope"]> | null;
    if (typeof value?.code !== "number" || typeof value.msg !== "string") return undefined;
    return { code: value.code, msg: value.msg, data: value.data };
  } catch {
    return undefined;
  }
}

const requestIdOf = (headers: Headers) => headers.get("x-request-id") ?? undefined;

/** Only the form in seconds; this service sends no dates. */
function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get("retry-after");
  return value !== null && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
