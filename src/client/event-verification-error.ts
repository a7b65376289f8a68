/** Why an event was refused. Answer 400; the service tries again later. */
export type EventVerificationErrorCode =
  /** A header is absent or empty: the request is not from a webhook, or a proxy drops headers. */
  | "headers_missing"
  /** The event is too old or from the future: it may be a replay, or this machine's clock may be wrong. */
  | "timestamp_out_of_range"
  /** The event was signed with another secret, or the body is not the bytes that arrived. */
  | "signature_wrong"
  /** A fault of the receiver: the secret is not `whsec_` and base64. */
  | "secret_malformed"
  /** The body is not raw text or bytes, or the signed body is no event. */
  | "body_malformed";

/** An event that must not be trusted. No message holds the secret, the body or a signature. */
export class EventVerificationError extends Error {
  override readonly name = "EventVerificationError";
  readonly code: EventVerificationErrorCode;

  constructor(code: EventVerificationErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
