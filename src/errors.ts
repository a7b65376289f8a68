import type { FieldIssue } from "./fields.ts";

/** The closed set of ways a request is refused, each with its HTTP status. Every face says a code in a form of its own. */
const STATUS = {
  // Of the signed API: contract section 7.
  invalid_parameters: 400,
  token_invalid: 401,
  session_not_found: 404,
  state_forbids: 409,
  idempotency_key_reused: 422,
  // Of operators.
  invalid_input: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  // Of everyone.
  body_too_large: 413,
  media_type_unsupported: 415,
  route_not_found: 404,
  method_not_allowed: 405,
  too_many_requests: 429,
  internal: 500,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof STATUS;

export const STATUS_OF: Readonly<Record<ErrorCode, (typeof STATUS)[ErrorCode]>> = STATUS;

/** The codes that a signed call can be refused with. */
export type SignedErrorCode = Exclude<
  ErrorCode,
  "invalid_input" | "unauthorized" | "forbidden" | "not_found" | "conflict"
>;

const wire = (code: SignedErrorCode, message: string) => ({ status: STATUS[code], message });

/** Status and message of the signed API: contract section 7, and for what it leaves open README, "Decisions". */
export const WIRE_ERRORS: Readonly<Record<SignedErrorCode, { status: number; message: string }>> = {
  invalid_parameters: wire("invalid_parameters", "参数错误"),
  token_invalid: wire("token_invalid", "token验证失败!"),
  session_not_found: wire("session_not_found", "会话不存在"),
  state_forbids: wire("state_forbids", "当前状态不允许操作"),
  body_too_large: wire("body_too_large", "参数错误"),
  media_type_unsupported: wire("media_type_unsupported", "参数错误"),
  idempotency_key_reused: wire("idempotency_key_reused", "参数错误"),
  route_not_found: wire("route_not_found", "接口不存在"),
  method_not_allowed: wire("method_not_allowed", "请求方法错误"),
  too_many_requests: wire("too_many_requests", "请求过于频繁"),
  internal: wire("internal", "系统错误"),
  unavailable: wire("unavailable", "服务暂时不可用"),
};

export const isSignedErrorCode = (code: ErrorCode): code is SignedErrorCode => Object.hasOwn(WIRE_ERRORS, code);

export interface ErrorContext {
  /** A short word for the log line: why, in terms an operator can search for. Never data of the caller. */
  reason: string;
  /** English ASCII for the caller and the log: which field, which rule. Never a value that the caller sent, but ids. */
  detail?: string;
  /** What is wrong with an operator's input, field by field. Not for the log: a name of a field may be anything. */
  issues?: FieldIssue[];
  /** The caller may read the detail: the signature was valid, or it depends on no secret. */
  tell?: true;
  /** Seconds, for `Retry-After`. */
  retryAfter?: number;
  /** For `Allow` on a 405. */
  allow?: string;
  /** What went wrong underneath, for the log. Never sent. */
  cause?: unknown;
}

/** A request refused for one of the reasons in the closed set. Each face of http/ answers it in a form of its own. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly context: ErrorContext;

  constructor(code: ErrorCode, context: ErrorContext) {
    super(`${code}: ${context.reason}`, context.cause === undefined ? {} : { cause: context.cause });
    this.code = code;
    this.context = context;
  }
}

/** An operator's input that breaks these rules. */
export const invalidInput = (issues: FieldIssue[]): ServiceError =>
  new ServiceError("invalid_input", { reason: "fields_invalid", issues });

/** Whether what was thrown is a refusal for one of these reasons: for callers that answer one refusal in a way of their own. */
export const isRefusedFor = (error: unknown, ...reasons: string[]): error is ServiceError =>
  error instanceof ServiceError && reasons.includes(error.context.reason);
