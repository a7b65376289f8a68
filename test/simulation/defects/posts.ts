import { type Defect, LONGER } from "./defect.ts";

const ATTEMPT = "src/webhooks/attempt.ts";

/** Of what goes over the wire to receivers, and of what their answers come to. */
export const POST_DEFECTS: Defect[] = [
  {
    name: "another-id-for-each-retry",
    what: "A retry has another webhook-id than the first attempt.",
    edits: [
      {
        file: ATTEMPT,
        find: "{ url: held.url, eventId, body:",
        replace: "{ url: held.url, eventId: held.attempts > 1 ? `${eventId}${held.attempts}` : eventId, body:",
      },
    ],
  },
  {
    name: "timestamp-of-long-ago",
    what: "webhook-timestamp is not the time of the attempt.",
    edits: [
      {
        file: ATTEMPT,
        find: "timestamp: unixSeconds(runtime), body };",
        replace: "timestamp: unixSeconds(runtime) - 60, body };",
      },
    ],
  },
  {
    name: "body-written-anew",
    what: "The body is not the bytes that were stored.",
    edits: [
      {
        file: "src/webhooks/body.ts",
        find: '"data":${data}}`',
        replace: '"data":${JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(data)).reverse()))}}`',
      },
    ],
  },
  {
    name: "signed-without-timestamp",
    what: "The signature does not cover the timestamp.",
    edits: [{ file: "src/webhooks/sign.ts", find: "`${id}.${timestamp}.${body}`", replace: "`${id}.${body}`" }],
  },
  {
    name: "overlap-signed-once",
    what: "During the overlap of a rotation events are not signed with the previous secret.",
    edits: [
      { file: "src/webhooks/open-keys.ts", find: "...(overlaps ? [open", replace: "...(overlaps && false ? [open" },
    ],
  },
  {
    name: "overlap-signed-as-before",
    what: "During the overlap of a rotation events are not signed with the new secret.",
    edits: [
      {
        file: "src/webhooks/open-keys.ts",
        find: '    open("current", version, secret),\n',
        replace: '    ...(overlaps ? [] : [open("current", version, secret)]),\n',
      },
    ],
  },
  {
    name: "previous-secret-for-ever",
    what: "A secret that was rotated out goes on signing after its overlap.",
    edits: [
      {
        file: "src/webhooks/open-keys.ts",
        find: "(previousExpiresAt ?? 0) > now",
        replace: "(previousExpiresAt ?? 0) > now - 1e9",
      },
    ],
  },
  {
    name: "redirects-followed",
    what: "An event goes to wherever a receiver redirects.",
    edits: [{ file: "src/webhooks/post.ts", find: 'redirect: "manual"', replace: 'redirect: "follow"' }],
  },
  {
    name: "redirects-are-successes",
    what: "An answer below 400 is a success.",
    edits: [{ file: "src/webhooks/post.ts", find: "if (response.ok) return", replace: "if (status < 400) return" }],
  },
  {
    name: "receivers-have-a-minute",
    what: "A receiver that hangs holds its place for a minute.",
    edits: [
      {
        file: "src/webhooks/post.ts",
        find: "export const POST_LIMIT_MS = 15_000;",
        replace: "export const POST_LIMIT_MS = 50_000;",
      },
    ],
  },
  {
    name: "errors-with-control-characters",
    what: "What a receiver answers is kept as it is.",
    edits: [{ file: "src/webhooks/post.ts", find: 'text.replace(/[\\p{C}\\s]+/gu, " ").trim()', replace: "text" }],
  },
  {
    name: "retry-after-ignored",
    what: "A receiver that asks for patience gets none.",
    edits: [
      {
        file: "src/webhooks/schedule.ts",
        find: "Math.max(jittered, Math.min(retryAfter, LONGEST_WAIT_SECONDS))",
        replace: "Math.max(jittered, 0 * Math.min(retryAfter, LONGEST_WAIT_SECONDS))",
      },
    ],
  },
  {
    name: "retry-after-shortens",
    what: "Retry-After makes a pause shorter.",
    edits: [
      {
        file: "src/webhooks/schedule.ts",
        find: "Math.max(jittered, Math.min(retryAfter, LONGEST_WAIT_SECONDS))",
        replace: "(retryAfter > 0 ? Math.min(retryAfter, LONGEST_WAIT_SECONDS) : jittered)",
      },
    ],
  },
  {
    name: "retry-after-without-end",
    what: "A receiver may ask for any patience.",
    edits: [
      {
        file: "src/webhooks/schedule.ts",
        find: "Math.min(retryAfter, LONGEST_WAIT_SECONDS)",
        replace: "Math.max(retryAfter, 0 * LONGEST_WAIT_SECONDS)",
      },
    ],
  },
  {
    name: "first-pause-left-out",
    what: "The second attempt comes after five minutes.",
    edits: [
      { file: "src/webhooks/schedule.ts", find: "BACKOFF_SECONDS[attempts - 1]", replace: "BACKOFF_SECONDS[attempts]" },
    ],
  },
  {
    name: "nine-attempts",
    what: "A delivery is tried once more than documented.",
    edits: [{ file: "src/webhooks/schedule.ts", find: "36_000, 43_200];", replace: "36_000, 43_200, 60];" }],
  },
  {
    name: "dates-of-asctime-ignored",
    what: "A receiver that asks for patience until a date without a zone gets none.",
    edits: [{ file: "src/webhooks/schedule.ts", find: "HTTP_DATE.test(header) ?", replace: "/ GMT$/.test(header) ?" }],
  },
  {
    name: "any-text-is-a-date",
    what: "What is no date of HTTP counts as one.",
    edits: [{ file: "src/webhooks/schedule.ts", find: "HTTP_DATE.test(header) ?", replace: "header ?" }],
  },
  {
    name: "private-names-forgotten",
    what: "One of the names that no public name server knows is taken for a public one.",
    edits: [{ file: "src/webhooks/url.ts", find: "|home|lan|", replace: "|home|" }],
  },
  {
    name: "any-port",
    steps: LONGER,
    what: "Events may be posted to any port.",
    edits: [
      {
        file: "src/webhooks/url.ts",
        find: 'return url.port === "" ? undefined',
        replace: 'return url.port !== "0" ? undefined',
      },
    ],
  },
  {
    name: "user-in-url",
    what: "A webhook's URL may hold a user and a password.",
    edits: [
      {
        file: "src/webhooks/url.ts",
        find: 'if (url.username !== "" || url.password !== "") return',
        replace: 'if (url.username === "nobody") return',
      },
    ],
  },
  {
    name: "stored-urls-are-trusted",
    steps: LONGER,
    what: "Events are posted to a URL that a hand at the database has written, wherever it leads.",
    edits: [
      {
        file: ATTEMPT,
        find: "if (fault !== undefined) return { status: null, error: `the URL",
        replace: "if (fault !== undefined && URL.parse(url) === null) return { status: null, error: `the URL",
      },
    ],
  },
  {
    name: "gone-is-tried-again",
    what: "A receiver that answers 410 is asked again.",
    edits: [
      { file: ATTEMPT, find: "const gone = lastStatus === GONE;", replace: "const gone = lastStatus === GONE + 1;" },
    ],
  },
  {
    name: "gone-stays-enabled",
    what: "A webhook whose receiver answers 410 stays enabled.",
    edits: [
      { file: ATTEMPT, find: "lastStatus, lastError }, gone };", replace: "lastStatus, lastError }, gone: false };" },
    ],
  },
];
