import type { FieldIssue } from "./fields.ts";
import type { Violation } from "./rules.ts";

/** All codes that a request can be refused with, and their HTTP statuses. Each surface in http/ writes them in its own form. */
const STATUS = {
  // Codes of signed calls: contract section 7.
  invalid_parameters: 400,
  token_invalid: 401,
  session_not_found: 404,
  state_forbids: 409,
  idempotency_key_reused: 422,
  // Codes of operators' calls.
  invalid_input: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  // Codes of signed calls and operators' calls.
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

export type SignedErrorCode = Exclude<
  ErrorCode,
  "invalid_input" | "unauthorized" | "forbidden" | "not_found" | "conflict"
>;

const wireError = (code: SignedErrorCode, message: string) => ({ status: STATUS[code], message });

/**
 * HTTP status and message in the signed API. Contract section 7; for the codes that section 7 does not name: docs/decisions.md,
 * "Answers".
 */
export const WIRE_ERRORS: Readonly<Record<SignedErrorCode, { status: number; message: string }>> = {
  invalid_parameters: wireError("invalid_parameters", "参数错误"),
  token_invalid: wireError("token_invalid", "token验证失败!"),
  session_not_found: wireError("session_not_found", "会话不存在"),
  state_forbids: wireError("state_forbids", "当前状态不允许操作"),
  body_too_large: wireError("body_too_large", "参数错误"),
  media_type_unsupported: wireError("media_type_unsupported", "参数错误"),
  idempotency_key_reused: wireError("idempotency_key_reused", "参数错误"),
  route_not_found: wireError("route_not_found", "接口不存在"),
  method_not_allowed: wireError("method_not_allowed", "请求方法错误"),
  too_many_requests: wireError("too_many_requests", "请求过于频繁"),
  internal: wireError("internal", "系统错误"),
  unavailable: wireError("unavailable", "服务暂时不可用"),
};

export const isSignedErrorCode = (code: ErrorCode): code is SignedErrorCode => Object.hasOwn(WIRE_ERRORS, code);

export interface ErrorContext {
  /** The reason for the log: a short word that an operator can search for. Never data of the caller. */
  reason: string;
  /** Which field broke which rule, for the caller and the log. */
  violations?: readonly Violation[];
  /** A sentence in place of violations, for operators and the log. English ASCII. It quotes nothing that a caller sent. */
  detail?: string;
  /** The appid of an operator's call. The Worker may have chosen it, and then the operator knows it only from this field. */
  appid?: string;
  /** What is wrong with an operator's input, field by field. The log leaves it out, because the name of an unknown field may be anything. */
  issues?: FieldIssue[];
  /** The caller may read the detail, because the signature was valid or the detail depends on no secret. */
  tellViolations?: true;
  /** The role that an operator's call needs. */
  role?: string;
  /** The homes without which an operator's question has no answer. */
  homesDown?: string[];
  /** More members of the answer to an operator, by their names. */
  members?: object;
  /** Seconds, for `Retry-After`. */
  retryAfter?: number;
  allow?: string;
  /** The error that caused this one, for the log. Never sent. */
  cause?: unknown;
}

/** A refusal with one of the codes above. Each surface in http/ answers it in its own form. */
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

export const invalidInput = (issues: FieldIssue[]): ServiceError =>
  new ServiceError("invalid_input", { reason: "fields_invalid", issues });

/** Whether an error is a ServiceError with one of these reasons. For surfaces that handle one refusal differently. */
export const isRefusedFor = (error: unknown, ...reasons: string[]): error is ServiceError =>
  error instanceof ServiceError && reasons.includes(error.context.reason);

/** Catches what was refused for one of these reasons, so that the result is undefined then. */
export const unlessRefusedFor =
  (...reasons: string[]) =>
  (error: unknown): undefined => {
    if (!isRefusedFor(error, ...reasons)) throw error;
  };
