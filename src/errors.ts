import type { FieldIssue } from "./fields.ts";

/** The closed set of codes a request is refused with, each with its HTTP status. Each face of http/ has its own form for them. */
const STATUS = {
  // Signed calls: contract section 7.
  invalid_parameters: 400,
  token_invalid: 401,
  session_not_found: 404,
  state_forbids: 409,
  idempotency_key_reused: 422,
  // Operators.
  invalid_input: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  // Both.
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

/** Status and message in the signed API: contract section 7, and docs/decisions.md, "Answers", for what it leaves open. */
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
  /** Why, as a short word for the log that an operator can search for. Never data of the caller. */
  reason: string;
  /** Which field broke which rule, in English ASCII, for the caller and the log. Of sent values it may hold ids only. */
  detail?: string;
  /** The appid that an operator must know, also when it was made up for him. */
  appid?: string;
  /** What is wrong with an operator's input, field by field. Not logged, because a sent field name may be anything. */
  issues?: FieldIssue[];
  /** The caller may read the detail: the signature was valid, or it depends on no secret. */
  tell?: true;
  /** Seconds, for `Retry-After`. */
  retryAfter?: number;
  /** For `Allow` on a 405. */
  allow?: string;
  /** The error below this one, for the log. Never sent. */
  cause?: unknown;
}

/** A request that is refused with a code of the closed set. Each face of http/ answers it in its own form. */
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

/** The refusal of an operator's input. */
export const invalidInput = (issues: FieldIssue[]): ServiceError =>
  new ServiceError("invalid_input", { reason: "fields_invalid", issues });

/** Whether an error is a ServiceError with one of these reasons. For faces that answer a certain refusal in a special way. */
export const isRefusedFor = (error: unknown, ...reasons: string[]): error is ServiceError =>
  error instanceof ServiceError && reasons.includes(error.context.reason);
