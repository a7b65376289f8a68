import { createHmac } from "node:crypto";
import type { BrokenRule } from "../../checker/violate.ts";
import type { Row } from "../../platform/database.ts";
import type { Post } from "../acts/post.ts";
import type { Attempt } from "./attempt.ts";

/** The format of posts, implemented a second time from docs/receiving.md and the specification of Standard Webhooks. */

/** @param secrets the secret of every version so far */
export function wrongPost(attempt: Attempt, post: Post, secrets: ReadonlyMap<string, string>): BrokenRule {
  const { headers, body } = post;
  const { event } = attempt;
  if (event?.data === null) return ["an erased event is not posted", `${event.id} was, before the attempt began`];
  const timestamp = headers["webhook-timestamp"] ?? "";
  const expected = event === undefined ? undefined : bodyOf(event);
  if (body !== expected) return ["the body is the event, the same bytes each time", `${body}, expected ${expected}`];
  const signature = headers["webhook-signature"];
  const possible = attempt.webhooks.flatMap((webhook) =>
    [attempt.leasedAt, Number(timestamp)].map((at) =>
      signaturesOf(webhook, at, secrets, `${event?.id}.${timestamp}.${body}`),
    ),
  );
  if (possible.some((each) => each === signature)) return undefined;
  const what = `${post.name} has ${signature}, expected ${[...new Set(possible)].join(" or ")}`;
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
