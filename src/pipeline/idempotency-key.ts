import { ServiceError } from "../errors.ts";

/** How long the answer to a key is remembered, in seconds. */
export const IDEMPOTENCY_SECONDS = 86_400;

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** The Idempotency-Key header: 1 to 255 visible ASCII characters taken as they are, null without one, or why it is refused. */
export function parseIdempotencyKey(header: string | undefined): string | null | ServiceError {
  if (header === undefined) return null;
  if (VISIBLE_ASCII.test(header)) return header;
  const detail = "Idempotency-Key: must be 1 to 255 visible ASCII characters";
  return new ServiceError("invalid_parameters", { reason: "idempotency_key_malformed", detail });
}
