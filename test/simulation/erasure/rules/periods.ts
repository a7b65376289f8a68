/** Numbers of the documentation that several rules need. */

/** How long a used ranstr is remembered: docs/contract.md. */
export const NONCE_SECONDS = 1_860;
/** How long an Idempotency-Key is remembered: docs/retrying.md. */
export const KEY_SECONDS = 86_400;
/**
 * How long an isolate makes no look-up for an app and an address after a failed signature: docs/architecture.md,
 * "Caches may be wrong".
 */
export const NEGATIVE_CACHE_MS = 5_000;
/**
 * Milliseconds within which every call is answered: docs/architecture.md, "Time is bounded", and a margin for the ways
 * to D1 and back.
 */
export const WHOLE_LIMIT_MS = 9_500;
