import type { Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Post } from "../acts/post.ts";

/** The largest difference between the clocks of two isolates. */
export const SKEW_SECONDS = 20;

/** One attempt to deliver an event, from its lease on. Times are Unix seconds by the clock of its isolate. */
export interface Attempt {
  call: Call;
  home: string;
  /** Site, webhook and seq. */
  key: string;
  lease: string;
  /** The number of attempts so far, this one included. */
  number: number;
  leasedAt: number;
  /** Every state of the webhook from the lease to the post. */
  webhooks: Row[];
  /** Undefined when the event was erased or pruned. */
  event: Row | undefined;
  post: Post | undefined;
  endedAt: number | undefined;
  /** When the post ended, in milliseconds of virtual time. */
  endedMs: number | undefined;
  /** Whether its success was recorded. */
  isWritten: boolean;
}

/** A ping is tried once and does not change its webhook's health: docs/operating/webhooks.md, "Webhooks". */
export const isPing = ({ event }: Attempt): boolean => event?.type === "ping";

/** The status of the receiver's answer; null until the Worker has received it. */
export const statusOf = ({ post }: Attempt): number | null =>
  (post?.heardAt === undefined ? undefined : post.status) ?? null;

export const isSuccess = (attempt: Attempt): boolean => {
  const status = statusOf(attempt);
  return status !== null && status >= 200 && status < 300;
};

/** The isolate's clock in Unix seconds, now. */
export const clockOf = ({ isolate, clock }: Call): number => isolate?.clock ?? clock;

/** Whether a post goes to the URL of a webhook's row. */
export const isAt = (post: Post, { url }: Row): boolean => post.url === URL.parse(String(url))?.href;
