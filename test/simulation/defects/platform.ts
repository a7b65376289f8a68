import type { Defect } from "./defect.ts";

const RUN_REQUEST = "src/signed/run-request.ts";
const RESOLVE = "src/credentials/resolve-credentials.ts";
const NONCE_PUT = "waitUntil(rememberNonce";
const APP_COUNT = "waitUntil(limits.count(config.appLimit, appid";
const SITE_COUNT = "waitUntil(limits.count(config.siteLimit";

/** Work that is begun and not registered: its file, and how the call of waitUntil begins there. */
const FORGOTTEN = [
  ["nonce", "what puts a used ranstr into NONCES", RUN_REQUEST, NONCE_PUT],
  ["app-count", "what counts a call for its app's limit", RUN_REQUEST, APP_COUNT],
  ["site-count", "what counts a call for its site's limit", RUN_REQUEST, SITE_COUNT],
  [
    "closed-count",
    "what counts a call that met a closed site",
    RUN_REQUEST,
    "waitUntil(limits.count(config.appLimit, closedKey",
  ],
  [
    "malformed-count",
    "what counts a malformed call",
    RUN_REQUEST,
    "waitUntil(limits.count(config.appLimit, malformedKey",
  ],
  ["wake", "what tells the queue of an event", "src/signed/decide.ts", "lifetime.waitUntil(notifyQueue"],
  ["late-look-up", "the look-up in D1 that KV has outrun", "src/credentials/hedge.ts", "waitUntil(fromD1"],
  ["correction", "what puts a right record into KV", RESOLVE, "waitUntil(this.#correctKv"],
  ["publishing", "what tells KV of a change", RESOLVE, "waitUntil(writeRecord"],
  ["new-site", "what remembers a new site", "src/services/sites.ts", "ctx.waitUntil(rememberSite"],
  [
    "operator-wake",
    "what tells the queue of a delivery by hand",
    "src/services/service-context.ts",
    "ctx.waitUntil(notifyQueue",
  ],
  ["deliveries", "what delivers", "src/webhooks/deliver.ts", "waitUntil(\n    Promise.all([notified"],
] as const;

const FORGOTTEN_DEFECTS: Defect[] = FORGOTTEN.map(([name, what, file, find]) => ({
  name: `forgotten-${name}`,
  what: `Nobody registers ${what}, so it ends with the answer.`,
  edits: [{ file, find, replace: find.replace(/^[\w.]*waitUntil/, "((_: unknown) => {})") }],
}));

/** Who counts less or remembers less than every request that has used up its ranstr. */
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
    what: "The tries of the batch get 8 s of their own, however long the look-up took.",
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
    what: "A run of the consumer goes on as long as something is due.",
    edits: [{ file: "src/webhooks/budget.ts", find: "const MOST_CALLS = 46;", replace: "const MOST_CALLS = 4_600;" }],
  },
  {
    name: "batches-not-paid",
    what: "A run of the consumer counts its posts, and neither its batches nor its messages.",
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
    what: "The sweep asks a home again as long as something waits there.",
    edits: [
      {
        file: "src/webhooks/sweep.ts",
        find: "        ended[home] = await endLeftovers(tools, db, waiting);",
        replace:
          "        ended[home] = await endLeftovers(tools, db, waiting);\n        for (let left = waiting; left.length > 0; ) left = await listWaiting(tools, db);",
      },
    ],
  },
];

const REFUSED: Defect[] = [
  {
    name: "refusals-tried-again",
    what: "What D1 refuses for good is tried again until the time is over.",
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
    what: "A database that is full or busy is told as an internal error, which nobody tries again.",
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
    what: "The answer says what the database said.",
    edits: [
      {
        file: "src/store/run-batch.ts",
        find: '{ reason: "d1_unavailable", retryAfter: 1, cause }',
        replace: '{ reason: "d1_unavailable", retryAfter: 1, cause, tell: true, detail: rootOf(cause).message }',
      },
    ],
  },
];

/** Of what the platform demands: to say what goes on after the answer, and to be sparing with time and calls. */
export const PLATFORM_DEFECTS: Defect[] = [...FORGOTTEN_DEFECTS, ...UNCOUNTED, ...SLOW, ...MANY_CALLS, ...REFUSED];
