/** Numbers of the documentation that several rules need. */

/** How long a used ranstr is remembered: docs/contract.md. */
export const NONCE_SECONDS = 1_860;
/** How long an Idempotency-Key is remembered: docs/retrying.md. */
export const KEY_SECONDS = 86_400;
/**
 * Milliseconds within which every call is answered: docs/architecture.md, "Time is bounded", and a margin for the ways
 * to D1 and back.
 */
export const WHOLE_LIMIT_MS = 9_500;
