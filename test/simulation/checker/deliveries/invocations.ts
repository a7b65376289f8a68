import type { Call } from "../../world/call.ts";
import type { Post } from "../../world/receivers/post.ts";
import { messagesOf } from "./turns.ts";

/**
 * How many posts one run of the consumer may make at once, and how long receivers may delay the run:
 * docs/architecture.md, "Events".
 */

type Broken = [rule: string, what: string] | undefined;

/** Cloudflare's limits for one invocation: connections at once, and subrequests. */
const MOST_CONNECTIONS = 6;
const MOST_POSTS = 40;
/** Milliseconds that a receiver has: 15 s, and half a second for waits inside the isolate. */
const POST_LIMIT_MS = 15_500;
/**
 * A run for one home that no fault met returns within so many milliseconds after its first post. A run for two homes
 * may wait longer, because one of them may be slow.
 */
const RETURNED_MS = 100;

export class Invocations {
  readonly #posts = new Map<Call, Post[]>();

  begins(post: Post): Broken {
    const posts = this.#posts.get(post.call) ?? [];
    this.#posts.set(post.call, [...posts, post]);
    if (posts.length >= MOST_POSTS) return ["a run of the consumer posts 40 times at most", `${posts.length} before`];
    const open = posts.filter(({ isOpen }) => isOpen).length;
    return open >= MOST_CONNECTIONS ? ["a run of the consumer posts 6 at once at most", `${open} are open`] : undefined;
  }

  /** @param now milliseconds of virtual time */
  ends({ call, sentAt }: Post, now: number): Broken {
    const took = Math.round(now - sentAt);
    if (!call.alive) return undefined;
    if (took > POST_LIMIT_MS) return ["a receiver has 15 s", `it took ${took} ms`];
    const first = this.#posts.get(call)?.[0]?.sentAt ?? now;
    const returned = Math.round((call.answeredAt ?? now) - first);
    const isAlone = new Set(messagesOf(call).map(({ home }) => home)).size === 1;
    const holds = returned > RETURNED_MS && isAlone && call.faults.length === 0;
    return holds ? ["no receiver delays the queue", `the run returned after ${returned} ms`] : undefined;
  }
}
