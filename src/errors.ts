/**
 * The closed set of ways a request is refused, and what each is on the wire.
 * Messages and cases: contract section 7; statuses and the messages the contract leaves open: README, "Decisions".
 */
const WIRE = {
  invalid_parameters: { status: 400, message: "参数错误" },
  token_invalid: { status: 401, message: "token验证失败!" },
  session_not_found: { status: 404, message: "会话不存在" },
  state_forbids: { status: 409, message: "当前状态不允许操作" },
  body_too_large: { status: 413, message: "参数错误" },
  media_type_unsupported: { status: 415, message: "参数错误" },
  idempotency_key_reused: { status: 422, message: "参数错误" },
  route_not_found: { status: 404, message: "接口不存在" },
  method_not_allowed: { status: 405, message: "请求方法错误" },
  too_many_requests: { status: 429, message: "请求过于频繁" },
  internal: { status: 500, message: "系统错误" },
  unavailable: { status: 503, message: "服务暂时不可用" },
} as const;

export type ErrorCode = keyof typeof WIRE;

export const WIRE_ERRORS: Readonly<Record<ErrorCode, { status: number; message: string }>> = WIRE;

export interface ErrorContext {
  /** A short word for the log line: why, in terms an operator can search for. Never data of the caller. */
  reason: string;
  /** English ASCII for `x-error-detail` and the log: which field, which rule. Never a value that the caller sent, but ids. */
  detail?: string;
  /** The detail depends on no secret, so it leaves also where no signature was valid. */
  open?: true;
  /** Seconds, for `Retry-After`. */
  retryAfter?: number;
  /** For `Allow` on a 405. */
  allow?: string;
  /** What went wrong underneath, for the log. Never sent. */
  cause?: unknown;
}

/** A request refused for one of the reasons in the closed set. Thrown anywhere below http/, answered in one place there. */
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
