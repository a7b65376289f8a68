import { type Defect, LONGER } from "./defect.ts";

const ATTEMPT = "src/webhooks/attempt.ts";

/** Defects of the posts to receivers, and of how their answers are used. */
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
    what: "The body differs from the stored bytes.",
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
    what: "An ended secret goes on signing after its overlap.",
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
    edits: [{ file: "src/webhooks/post.ts", find: "if (response.ok) {", replace: "if (status < 400) {" }],
  },
  {
    name: "receivers-have-a-minute",
    what: "A receiver that hangs keeps its place for a minute.",
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
    what: "A receiver's answer is stored unchanged.",
    edits: [{ file: "src/webhooks/post.ts", find: 'text.replace(/[\\p{C}\\s]+/gu, " ").trim()', replace: "text" }],
  },
  {
    name: "retry-after-ignored",
    what: "Retry-After is ignored.",
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
    what: "Retry-After makes the backoff shorter.",
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
    what: "Retry-After may ask for any delay.",
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
    what: "A Retry-After date without a zone is ignored.",
    edits: [{ file: "src/webhooks/schedule.ts", find: "HTTP_DATE.test(header) ?", replace: "/ GMT$/.test(header) ?" }],
  },
  {
    name: "any-text-is-a-date",
    what: "An invalid date in Retry-After counts as a date.",
    edits: [{ file: "src/webhooks/schedule.ts", find: "HTTP_DATE.test(header) ?", replace: "header ?" }],
  },
  {
    name: "private-names-forgotten",
    what: "The name of a private network is accepted as a public one.",
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
    what: "Events are posted to a URL that a hand at the database has written, even if it is forbidden.",
    edits: [
      {
        file: ATTEMPT,
        find: "if (fault !== undefined) return { ...unposted, error: `the URL",
        replace: "if (fault !== undefined && URL.parse(url) === null) return { ...unposted, error: `the URL",
      },
    ],
  },
  {
    name: "gone-is-tried-again",
    what: "A receiver that answered 410 gets another attempt.",
    edits: [
      { file: ATTEMPT, find: "const gone = lastStatus === GONE;", replace: "const gone = lastStatus === GONE + 1;" },
    ],
  },
  {
    name: "gone-stays-enabled",
    what: "A webhook whose receiver answers 410 stays enabled.",
    edits: [
      {
        file: ATTEMPT,
        find: "nextAttemptAt: next, againAt }, gone };",
        replace: "nextAttemptAt: next, againAt }, gone: false };",
      },
    ],
  },
];
