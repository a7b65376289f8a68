import { createHmac } from "node:crypto";
import type { Row } from "../../platform/database.ts";
import type { Post } from "../../world/receivers/post.ts";
import { type Attempt, clockOf } from "./attempt.ts";

/** The format of posts, read again from docs/receiving.md and the specification of Standard Webhooks. */

type Broken = [rule: string, what: string] | undefined;

/** The largest age of an attempt's timestamp when it is posted, in seconds: it is signed right before. */
const SIGNED_SECONDS = 2;

const HEADERS = { "content-type": "application/json", "user-agent": "agent-session-webhooks/1" };

/** @param secrets the secret of every version so far */
export function wrongPost(attempt: Attempt, post: Post, secrets: ReadonlyMap<string, string>): Broken {
  const { headers, body } = post;
  const now = clockOf(attempt.call);
  const timestamp = headers["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(timestamp) || Number(timestamp) > now || Number(timestamp) < now - SIGNED_SECONDS) {
    return ["webhook-timestamp is the time of the attempt", `it is ${timestamp}, now is ${now}`];
  }
  if (post.method !== "POST") return ["events are posted", `by ${post.method}`];
  if (post.redirect !== "manual") return ["redirects are not followed", `redirect is ${post.redirect}`];
  for (const [name, value] of Object.entries(HEADERS)) {
    if (headers[name] !== value) return ["a post says what it is", `${name} is ${headers[name]}`];
  }
  const { event } = attempt;
  if (event?.data === null) return ["an erased event is not posted", `${event.id} was, before the attempt began`];
  const expected = event === undefined ? undefined : bodyOf(event);
  if (body !== expected) return ["the body is the event, the same bytes each time", `${body}, expected ${expected}`];
  const given = headers["webhook-signature"];
  const possible = attempt.webhooks.flatMap((webhook) =>
    [attempt.leasedAt, Number(timestamp)].map((at) =>
      signaturesOf(webhook, at, secrets, `${event?.id}.${timestamp}.${body}`),
    ),
  );
  if (possible.some((each) => each === given)) return undefined;
  const what = `${post.name} has ${given}, expected ${[...new Set(possible)].join(" or ")}`;
  return ["each post is signed with every secret that is valid then, and with no other", what];
}

const bodyOf = ({ type, created_at, data }: Row): string =>
  `{"type":"${type}","timestamp":"${new Date(Number(created_at) * 1000).toISOString()}","data":${data}}`;

/** The signatures of the current secret and, while it is valid, of the previous one, in this order. */
function signaturesOf(webhook: Row, at: number, secrets: ReadonlyMap<string, string>, text: string): string {
  const { version, previous_version, previous_expires_at } = webhook;
  const isOverlap = previous_version !== null && Number(previous_expires_at) > at;
  return [version, ...(isOverlap ? [previous_version] : [])]
    .map((each) => {
      const key = Buffer.from((secrets.get(String(each)) ?? "").replace(/^whsec_/, ""), "base64");
      return `v1,${createHmac("sha256", key).update(text).digest("base64")}`;
    })
    .join(" ");
}
