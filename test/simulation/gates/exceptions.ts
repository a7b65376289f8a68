/** Names that may be missing in any number of seeds, with the reason. The nightly gate leaves them out. */
export const NEVER: Record<string, string> = {
  "queue: message dropped":
    "its consumer has to die as often in a row as a message is given; the stand-in's own tests show it",
};

/**
 * Rules whose last condition only excuses a violation, so it is never evaluated while the promise holds. They count as
 * asked where their function begins.
 */
export const WHOLE_FUNCTION: Record<string, string> = {
  "KV and limits delay no request": "what took too long is excused last",
  "no receiver delays the queue": "a fault is an excuse",
};
