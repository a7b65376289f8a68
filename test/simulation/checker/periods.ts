/** The numbers of the documentation that more than one rule is about. */

/** A used ranstr is remembered for so long: docs/contract.md. */
export const NONCE_SECONDS = 1_860;
/** An Idempotency-Key is remembered for so long: docs/retrying.md. */
export const KEY_SECONDS = 86_400;
/** After a signature failed, its isolate looks nothing up for this app and address for so long: docs/architecture.md, "Caches may be wrong". */
export const REFRESH_PAUSE_MS = 5_000;
/** In milliseconds: every call is answered within this: docs/architecture.md, "Time is bounded", and what the ways to D1 and back may add. */
export const WHOLE_LIMIT_MS = 9_500;
