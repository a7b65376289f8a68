/** Why a call did not succeed. The first five are final until the caller changes something. */
export type AgentSessionErrorCode =
  | "invalid_parameters"
  | "token_invalid"
  | "session_not_found"
  | "state_forbids"
  | "idempotency_key_reused"
  /** The call was over a limit; nothing was done. */
  | "too_many_requests"
  /** The service, or a gateway in front of it, could not answer. Repeat the call with its key to find out whether it was done. */
  | "unavailable"
  /** A fault of the deployment. */
  | "internal"
  /** No answer came: the connection failed or broke. */
  | "network"
  /** No answer came within `timeoutMs`. */
  | "timeout"
  /** The answer is from another server. */
  | "unexpected";

export interface AgentSessionErrorContext {
  /** HTTP status; undefined when there was no answer. */
  status?: number | undefined;
  detail?: string | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  cause?: unknown;
}

/**
 * A call that did not succeed. `message` says in English what happened, with the address, and with the service's own message and detail
 * if it sent them. Programs should read `code`, because the wording of `message` may change.
 */
export class AgentSessionError extends Error {
  override readonly name = "AgentSessionError";
  readonly code: AgentSessionErrorCode;
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  /** The field and the rule, in this client's names: `customer.name: must be a string of 1 to 30 characters`. */
  readonly detail: string | undefined;
  /** `x-request-id`, to quote to the operator. */
  readonly requestId: string | undefined;
  /** How many seconds the service asks to wait. `Infinity` when the text cannot be read, such as `1m`: do not give that to a timer. */
  readonly retryAfter: number | undefined;

  constructor(code: AgentSessionErrorCode, message: string, context: AgentSessionErrorContext = {}) {
    super(message, context.cause === undefined ? {} : { cause: context.cause });
    this.code = code;
    this.status = context.status;
    this.detail = context.detail;
    this.requestId = context.requestId;
    this.retryAfter = context.retryAfter;
  }
}
