import { ServiceError } from "../../core/errors.ts";
import { sleep } from "../../core/runtime.ts";
import { LIMIT_PERIOD } from "../../core/signed/rate-limit.ts";
import type { ServiceContext } from "./service-context.ts";

/** How many calls of one token an isolate has in flight at most. */
const MOST_IN_FLIGHT = { token_changes: 4, token_reads: 16 } as const;

type CallKind = keyof typeof MOST_IN_FLIGHT;

const kindOf = (isRead: boolean): CallKind => (isRead ? "token_reads" : "token_changes");

const keyOf = (kind: CallKind, tokenId: string): string => `${kind} ${tokenId}`;

const limitOf = ({ config }: ServiceContext, isRead: boolean) => (isRead ? config.tokenReads : config.tokenChanges);

const limitRefusal = (reason: CallKind | "token_in_flight", detail: string, retryAfter: number) =>
  new ServiceError("too_many_requests", { reason, detail, retryAfter });

const overLimit = (kind: CallKind, tokenId: string) =>
  limitRefusal(kind, `The token ${tokenId} ${kind === "token_reads" ? "reads" : "changes"} too much.`, LIMIT_PERIOD);

/**
 * How long a refusal that costs no work is held back. Otherwise a program that asks again at once would keep the isolate busy with
 * refusals, and each of them is a request that the deployment pays for.
 */
const HELD_BACK_MS = 1_000;

/**
 * Refuses a call of a token that this isolate knows to be over its limit, or that has too many calls in flight. It reads nothing, so the
 * token may not exist. A call that it lets through must be ended in `memory.calls`. A call that is refused because of those in flight
 * counts toward the limit: a program that does not wait reaches it soon.
 *
 * @throws ServiceError `too_many_requests`
 */
export async function beginCall(ctx: ServiceContext, tokenId: string, isRead: boolean): Promise<void> {
  const { runtime, memory, requestId, waitUntil } = ctx;
  const kind = kindOf(isRead);
  const key = keyOf(kind, tokenId);
  if (memory.limits.isExceeded(key)) {
    await sleep(runtime, HELD_BACK_MS);
    throw overLimit(kind, tokenId);
  }
  const most = MOST_IN_FLIGHT[kind];
  if (memory.calls.begin(key, most, requestId)) return;
  waitUntil(memory.limits.countLater(limitOf(ctx, isRead), key, LIMIT_PERIOD));
  const what = isRead ? "reads" : "changes";
  throw limitRefusal("token_in_flight", `The token ${tokenId} has ${most} ${what} under way.`, 1);
}

/** Counts a call of a token that exists. @throws ServiceError `too_many_requests` when the token is over its limit */
export async function countCall(ctx: ServiceContext, tokenId: string, isRead: boolean): Promise<void> {
  const kind = kindOf(isRead);
  if (!(await ctx.memory.limits.count(limitOf(ctx, isRead), keyOf(kind, tokenId), LIMIT_PERIOD)))
    throw overLimit(kind, tokenId);
}
