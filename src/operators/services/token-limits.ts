import { ServiceError } from "../../core/errors.ts";
import { LIMIT_PERIOD } from "../../core/signed/rate-limit.ts";
import { MOST_CHANGES_IN_FLIGHT } from "./changes-in-flight.ts";
import type { ServiceContext } from "./service-context.ts";

type Kind = "token_changes" | "token_reads";

const kindOf = (isRead: boolean): Kind => (isRead ? "token_reads" : "token_changes");

const keyOf = (kind: Kind, tokenId: string): string => `${kind} ${tokenId}`;

const refused = (reason: Kind | "token_in_flight", detail: string, retryAfter: number) =>
  new ServiceError("too_many_requests", { reason, detail, retryAfter });

const overLimit = (kind: Kind, tokenId: string) =>
  refused(kind, `The token ${tokenId} ${kind === "token_reads" ? "reads" : "changes"} too much.`, LIMIT_PERIOD);

/**
 * Refuses a call of a token that this isolate knows to be over its limit, or that has too many changes in flight. Nothing was asked
 * before: not even whether there is such a token. A change that may go on must be ended in `memory.changes`.
 *
 * @throws ServiceError `too_many_requests`
 */
export function beginCall({ memory, requestId }: ServiceContext, tokenId: string, isRead: boolean): void {
  const kind = kindOf(isRead);
  if (memory.limits.isExceeded(keyOf(kind, tokenId))) throw overLimit(kind, tokenId);
  if (isRead || memory.changes.begin(tokenId, requestId)) return;
  throw refused("token_in_flight", `The token ${tokenId} has ${MOST_CHANGES_IN_FLIGHT} changes under way.`, 1);
}

/** Counts a call of a token that exists. @throws ServiceError `too_many_requests` when the token is over its limit */
export async function countCall({ memory, config }: ServiceContext, tokenId: string, isRead: boolean): Promise<void> {
  const kind = kindOf(isRead);
  const limit = isRead ? config.tokenReads : config.tokenChanges;
  if (!(await memory.limits.count(limit, keyOf(kind, tokenId), LIMIT_PERIOD))) throw overLimit(kind, tokenId);
}
