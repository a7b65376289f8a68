/** What happens, or is asked, too seldom for the fixed seeds: with the reason. The seeds of a night show all of it. */
export const NIGHTLY: Record<string, string> = {};

/**
 * Rules of which the last condition only excuses what should not be, so that it is never evaluated while the promise holds. They are asked
 * where their test is begun.
 */
export const WHOLE_TEST: Record<string, string> = {
  "KV and limits hold no request up": "what took too long is excused last",
  "no receiver holds the queue up": "a fault is an excuse",
};
