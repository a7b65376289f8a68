import * as z from "zod/mini";
import { text } from "../fields.ts";
import { listSessions, type SessionStatus } from "../store/home/sessions.ts";
import { SESSION_STATUSES } from "../store/schema.ts";
import { page, pageQuerySchema } from "./page.ts";

/** Query of the list of sessions. */
export const sessionQuerySchema = z.extend(pageQuerySchema, {
  status: z.optional(z.enum(SESSION_STATUSES, `must be ${SESSION_STATUSES.join(" or ")}`)),
  sbs: z.optional(text(1, 64)),
});

/** A page of a site's sessions, newest first; of one status, of one customer, of both. */
export async function listSessionsOfSite(
  home: D1Database,
  siteId: number,
  filter: { status?: SessionStatus | undefined; sbs?: string | undefined },
  before: number,
  limit: number,
) {
  const { status, sbs: customerExternalId } = filter;
  const rows = await listSessions(home, siteId, { status, customerExternalId }, before, limit + 1);
  return page(
    rows,
    limit,
    (session) => session.id,
    (session) => session,
  );
}
