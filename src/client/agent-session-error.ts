/** Why a call did not succeed. The first five are final until the caller changes something. */
export type AgentSessionErrorCode =
  | "invalid_parameters"
  | "token_invalid"
  | "session_not_found"
  | "state_forbids"
  | "idempotency_key_reused"
  /** Over a limit; nothing was done. */
  | "too_many_requests"
  /** The service, or a gateway before it, could not answer: with a key, calling again settles whether the call was done. */
  | "unavailable"
  /** A fault of the deployment. */
  | "internal"
  /** No answer came: the connection failed or broke. */
  | "network"
  /** No answer came within `timeoutMs`. */
  | "timeout"
  /** An answer that is not this service's. */
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
 * A call that did not succeed. `message` says in English what happened, names the address that was called, and has the service's own
 * message and the detail where there are any. For programs there is `code`: the wording may change.
 */
export class AgentSessionError extends Error {
  override readonly name = "AgentSessionError";
  readonly code: AgentSessionErrorCode;
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  /** Which field, which rule, in this client's names: `customer.name: must be a string of 1 to 30 characters`. */
  readonly detail: string | undefined;
  /** `x-request-id`, to quote to the operator. */
  readonly requestId: string | undefined;
  /** Seconds the service asked to wait. */
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
