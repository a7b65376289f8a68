/** What no number of seeds is sure to show, with the reason: the gate of a night leaves it out. */
export const NEVER: Record<string, string> = {
  "queue: message dropped":
    "its consumer has to die as often in a row as a message is given; the stand-in's own tests show it",
};

/**
 * Rules of which the last condition only excuses what should not be, so that it is never evaluated while the promise holds. They are asked
 * where their test is begun.
 */
export const WHOLE_TEST: Record<string, string> = {
  "KV and limits hold no request up": "what took too long is excused last",
  "no receiver holds the queue up": "a fault is an excuse",
};
