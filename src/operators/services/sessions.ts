import * as z from "zod/mini";
import { text } from "../../core/fields.ts";
import { SESSION_STATUSES } from "../../core/store/schema.ts";
import type { Site } from "../store/directory/sites.ts";
import {
  type AgentPart,
  type SessionRow,
  type SessionStatus,
  type StoredSession,
  selectLookEnd,
  selectSession,
  selectSessionCounts,
  selectSessions,
} from "../store/home/sessions.ts";
import { beforeId, type Page, type PageInput, pageOf, pageQuerySchema } from "./page.ts";
import { sessionUnknown } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export { SESSION_PROPERTIES } from "../../core/operations/describe-session.ts";
export { SESSION_FIELDS, SESSION_STATUSES, type SessionField } from "../../core/store/schema.ts";
export type { SessionRow, SessionStatus, StoredSession } from "../store/home/sessions.ts";
export { AGENT_PARTS, type AgentPart, COUNT_LIMIT } from "../store/home/sessions.ts";

/** Query of the list of sessions. */
export const sessionQuerySchema = z.extend(pageQuerySchema, {
  status: z.optional(z.enum(SESSION_STATUSES, `must be ${SESSION_STATUSES.join(" or ")}`)),
  sbs: z.optional(text(1, 64)),
});

interface ListSessions extends PageInput {
  site: Site;
  status?: SessionStatus | undefined;
  /** The caller's identifier of a customer. */
  sbs?: string | undefined;
}

/**
 * A page of a site's sessions, newest first, of one status or one customer when these are given.
 *
 * @throws ServiceError `invalid_input` for a malformed cursor
 */
export async function listSessions(ctx: ServiceContext, input: ListSessions): Promise<Page<SessionRow>> {
  const { site, status, sbs, limit } = input;
  const filter = { status, customerExternalId: sbs };
  const rows = await selectSessions(homeOf(ctx, site), site.id, filter, beforeId(input), limit + 1);
  return pageOf(rows, limit, ({ id }) => id);
}

/** The most sessions that {@link findSessions} looks through for a page, when no index fits the filters. */
export const LOOKED_THROUGH = 10_000;

interface FindSessions extends ListSessions {
  /** The app that opened it. */
  appid?: string | undefined;
  /** An agent who is responsible or takes part. */
  agentId?: number | undefined;
  /** Only sessions on which the agent is so. */
  agentPart?: AgentPart | undefined;
  /** Unix seconds, of its opening; both included. */
  since?: number | undefined;
  until?: number | undefined;
}

/**
 * A page of a site's sessions that fit all filters, newest first.
 *
 * @returns `lookedTo`: the lowest id that was looked at, when {@link LOOKED_THROUGH} sessions did not fill a page; the next page then looks
 *   further back
 * @throws ServiceError `invalid_input` for a malformed cursor
 */
export async function findSessions(
  ctx: ServiceContext,
  input: FindSessions,
): Promise<Page<SessionRow> & { lookedTo: number | null }> {
  const { site, sbs: customerExternalId, status, appid, agentId, agentPart, since, until, limit } = input;
  const before = beforeId(input);
  const db = homeOf(ctx, site);
  const filter = { status, customerExternalId, appid, agentId, agentPart, since, until };
  const isLook = appid !== undefined || agentId !== undefined || (status && customerExternalId !== undefined);
  const from = isLook ? await selectLookEnd(db, site.id, filter, before, LOOKED_THROUGH) : undefined;
  const rows = await selectSessions(db, site.id, { ...filter, from }, before, limit + 1);
  const page = pageOf(rows, limit, ({ id }) => id);
  if (page.nextCursor !== null || from === undefined) return { ...page, lookedTo: null };
  return { ...page, nextCursor: String(from), lookedTo: from };
}

/** Everything stored of one session. @throws ServiceError `not_found` */
export async function readSession(
  ctx: ServiceContext,
  { site, chatId }: { site: Site; chatId: number },
): Promise<StoredSession> {
  const storedSession = await selectSession(homeOf(ctx, site), site.id, chatId);
  if (storedSession === undefined) throw sessionUnknown();
  return storedSession;
}

/**
 * Counts, for each time, a site's sessions created at or after it, by status. Counting stops at `COUNT_LIMIT`.
 *
 * @param input `since` in Unix seconds
 */
export function countSessions(
  ctx: ServiceContext,
  { site, since }: { site: Site; since: readonly number[] },
): Promise<Record<SessionStatus, number>[]> {
  return selectSessionCounts(homeOf(ctx, site), site.id, since);
}
