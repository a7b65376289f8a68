import type { Defect } from "./defect.ts";

const RUN_REQUEST = "src/signed/run-request.ts";
const RESOLVE = "src/credentials/resolve-credentials.ts";
const NONCE_PUT = "waitUntil(rememberNonce";
const APP_COUNT = "waitUntil(limits.count(config.appLimit, appid";
const SITE_COUNT = "waitUntil(limits.count(config.siteLimit";

/** Work that must be registered with waitUntil: its file, and the text with which the call of waitUntil begins. */
const FORGOTTEN = [
  ["nonce", "The put of a used ranstr into NONCES", RUN_REQUEST, NONCE_PUT],
  ["app-count", "The count for an app's limit", RUN_REQUEST, APP_COUNT],
  ["site-count", "The count for a site's limit", RUN_REQUEST, SITE_COUNT],
  [
    "closed-count",
    "The count of a call to a closed site",
    RUN_REQUEST,
    "waitUntil(limits.count(config.appLimit, closedKey",
  ],
  [
    "malformed-count",
    "The count of a malformed call",
    RUN_REQUEST,
    "waitUntil(limits.count(config.appLimit, malformedKey",
  ],
  ["wake", "The notification of the queue after an event", "src/signed/decide.ts", "lifetime.waitUntil(notifyQueue"],
  ["late-look-up", "The look-up in D1 after a faster answer of KV", "src/credentials/hedge.ts", "waitUntil(fromD1"],
  ["correction", "The put of a corrected record into KV", RESOLVE, "waitUntil(this.#correctKv"],
  ["publishing", "The put of a changed record into KV", RESOLVE, "waitUntil(writeRecord"],
  ["new-site", "The put of a new site into KV", "src/services/sites.ts", "ctx.waitUntil(rememberSite"],
  [
    "operator-wake",
    "The notification of the queue after an operator's redelivery",
    "src/services/service-context.ts",
    "ctx.waitUntil(notifyQueue",
  ],
  ["deliveries", "The work of delivering", "src/webhooks/deliver.ts", "waitUntil(\n    Promise.all([notified"],
] as const;

const FORGOTTEN_DEFECTS: Defect[] = FORGOTTEN.map(([name, what, file, find]) => ({
  name: `forgotten-${name}`,
  what: `${what} is not registered with waitUntil, so it ends with the answer.`,
  edits: [{ file, find, replace: find.replace(/^[\w.]*waitUntil/, "((_: unknown) => {})") }],
}));

/**
 * Every request that has used up its ranstr must count for the limits and be remembered. Each of these defects leaves
 * one kind out.
 */
const UNCOUNTED: Defect[] = [
  ["repeated-app", "An answer that is repeated does not count for its app's limit.", APP_COUNT, "repeated"],
  ["repeated-site", "An answer that is repeated does not count for its site's limit.", SITE_COUNT, "repeated"],
  ["refused-app", "A call that D1 refuses does not count for its app's limit.", APP_COUNT, "refused"],
  ["repeated-nonce", "An answer that is repeated is not put into NONCES.", NONCE_PUT, "repeated"],
  ["refused-nonce", "A call that D1 refuses is not put into NONCES.", NONCE_PUT, "refused"],
  ["accepted-nonce", "A call that is accepted is not put into NONCES.", NONCE_PUT, "accepted"],
].map(([name, what, find, kind]) => ({
  name: `uncounted-${name}`,
  what: String(what),
  edits: [{ file: RUN_REQUEST, find: String(find), replace: `if (outcome.kind !== "${kind}") ${find}` }],
}));

const SLOW: Defect[] = [
  {
    name: "batch-own-deadline",
    what: "The tries of the batch get a full 8 s, even after a long look-up.",
    edits: [
      {
        file: "src/signed/decide.ts",
        find: "{ ...tries, answerBy: lifetime.answerBy }",
        replace: "{ ...tries, answerBy: runtime.elapsed() + 8_000 }",
      },
    ],
  },
];

const MANY_CALLS: Defect[] = [
  {
    name: "budget-ignored",
    what: "A run of the consumer goes on as long as deliveries are due, without a limit.",
    edits: [{ file: "src/webhooks/budget.ts", find: "const MOST_CALLS = 46;", replace: "const MOST_CALLS = 4_600;" }],
  },
  {
    name: "batches-not-paid",
    what: "A run of the consumer counts only its posts for its limit, and not its batches and messages.",
    edits: [
      {
        file: "src/webhooks/budget.ts",
        find: "const CALLS_OF_AN_ATTEMPT = 3;",
        replace: "const CALLS_OF_AN_ATTEMPT = 1;",
      },
      { file: "src/webhooks/budget.ts", find: "    this.#calls -= 1;", replace: "" },
    ],
  },
  {
    name: "sweep-without-end",
    what: "The sweep asks a home again as long as deliveries wait there, without a limit.",
    edits: [
      {
        file: "src/webhooks/sweep.ts",
        find: "        ended[home] = await endLeftovers(tools, db, waiting, endings);",
        replace:
          "        ended[home] = await endLeftovers(tools, db, waiting, endings);\n        for (let left = waiting; left.length > 0; ) left = await listWaiting(tools, db);",
      },
    ],
  },
];

const REFUSED: Defect[] = [
  {
    name: "refusals-tried-again",
    what: "A permanent error of D1 is retried until the time is over.",
    edits: [
      {
        file: "src/store/run-batch.ts",
        find: "if (!(error instanceof TryTimedOut || TRANSIENT.test(message))) break;",
        replace: "void TRANSIENT;",
      },
    ],
  },
  {
    name: "full-is-a-fault-of-ours",
    what: "A full or busy database is answered as an internal error, which no client retries.",
    edits: [
      {
        file: "src/store/run-batch.ts",
        find: "SQLITE_(ERROR|",
        replace: "SQLITE_(FULL|BUSY|ERROR|",
      },
    ],
  },
  {
    name: "database-quoted",
    what: "The answer quotes the database's error.",
    edits: [
      {
        file: "src/store/run-batch.ts",
        find: '{ reason: "d1_unavailable", retryAfter: 1, cause }',
        replace: '{ reason: "d1_unavailable", retryAfter: 1, cause, tell: true, detail: rootOf(cause).message }',
      },
    ],
  },
];

/** Defects of the platform's demands: work after the answer is registered, and time and calls are limited. */
export const PLATFORM_DEFECTS: Defect[] = [...FORGOTTEN_DEFECTS, ...UNCOUNTED, ...SLOW, ...MANY_CALLS, ...REFUSED];
