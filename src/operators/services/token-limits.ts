import { ServiceError } from "../../core/errors.ts";
import { sleep } from "../../core/runtime.ts";
import { LIMIT_PERIOD } from "../../core/signed/rate-limit.ts";
import type { Who } from "../store/audit.ts";
import type { ServiceContext } from "./service-context.ts";

/** How many calls of one token, or of one person, an isolate has in flight at most. */
const MOST_IN_FLIGHT = { changes: 4, reads: 16 } as const;

/** Whose calls are limited: those of a token for programs, or of a person in the console. */
export type LimitedCaller = Pick<Who, "id"> & { kind: "token" | "person" };

type CallKind = keyof typeof MOST_IN_FLIGHT;

const kindOf = (isRead: boolean): CallKind => (isRead ? "reads" : "changes");

const REASONS = {
  token: { changes: "token_changes", reads: "token_reads", inFlight: "token_in_flight" },
  person: { changes: "person_changes", reads: "person_reads", inFlight: "person_in_flight" },
} as const;

const keyOf = (kind: CallKind, caller: LimitedCaller): string => `${REASONS[caller.kind][kind]} ${caller.id}`;

const limitOf = ({ config }: ServiceContext, isRead: boolean) => (isRead ? config.tokenReads : config.tokenChanges);

/** The caller in a sentence of the log, which holds no e-mail address. */
const nameOf = ({ kind, id }: LimitedCaller): string => (id.includes("@") ? "A person" : `The ${kind} ${id}`);

const limitRefusal = (reason: string, detail: string, retryAfter: number) =>
  new ServiceError("too_many_requests", { reason, detail, retryAfter });

const overLimit = (kind: CallKind, caller: LimitedCaller) =>
  limitRefusal(REASONS[caller.kind][kind], `${nameOf(caller)} ${kind} too much.`, LIMIT_PERIOD);

/**
 * How long a refusal that costs no work is held back. Otherwise a program that asks again at once would keep the isolate busy with
 * refusals, and each of them is a request that the deployment pays for.
 */
const HELD_BACK_MS = 1_000;

/**
 * Refuses a call of a token, or of a person, that this isolate knows to be over its limit, or that has too many calls in flight. It reads
 * nothing, so the token may not exist. A call that it lets through must be ended in `memory.calls`. A call that is refused because of
 * those in flight counts toward the limit: a program that does not wait reaches it soon.
 *
 * @throws ServiceError `too_many_requests`
 */
export async function beginCall(ctx: ServiceContext, caller: LimitedCaller, isRead: boolean): Promise<void> {
  const { runtime, memory, requestId, waitUntil } = ctx;
  const kind = kindOf(isRead);
  const key = keyOf(kind, caller);
  if (memory.limits.isExceeded(key)) {
    await sleep(runtime, HELD_BACK_MS);
    throw overLimit(kind, caller);
  }
  const most = MOST_IN_FLIGHT[kind];
  if (memory.calls.begin(key, most, requestId)) return;
  waitUntil(memory.limits.countLater(limitOf(ctx, isRead), key, LIMIT_PERIOD));
  throw limitRefusal(REASONS[caller.kind].inFlight, `${nameOf(caller)} has ${most} ${kind} under way.`, 1);
}

/** Counts a call of a token or a person that exists. @throws ServiceError `too_many_requests` when they are over the limit */
export async function countCall(ctx: ServiceContext, caller: LimitedCaller, isRead: boolean): Promise<void> {
  const kind = kindOf(isRead);
  if (!(await ctx.memory.limits.count(limitOf(ctx, isRead), keyOf(kind, caller), LIMIT_PERIOD)))
    throw overLimit(kind, caller);
}
