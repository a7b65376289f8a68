import * as z from "zod/mini";
import { text } from "../fields.ts";
import type { Site } from "../store/directory/sites.ts";
import * as sessions from "../store/home/sessions.ts";
import { SESSION_STATUSES } from "../store/schema.ts";
import { beforeId, type Page, type PageInput, pageOf, pageQuerySchema } from "./page.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export type { SessionRow, SessionStatus } from "../store/home/sessions.ts";
export { SESSION_STATUSES } from "../store/schema.ts";

/** Query of the list of sessions. */
export const sessionQuerySchema = z.extend(pageQuerySchema, {
  status: z.optional(z.enum(SESSION_STATUSES, `must be ${SESSION_STATUSES.join(" or ")}`)),
  sbs: z.optional(text(1, 64)),
});

interface ListSessions extends PageInput {
  site: Site;
  status?: sessions.SessionStatus | undefined;
  /** The caller's identifier of a customer. */
  sbs?: string | undefined;
}

/**
 * A page of a site's sessions, newest first, filtered by status and customer when given.
 *
 * @throws ServiceError `invalid_input` for a malformed cursor
 */
export async function listSessions(ctx: ServiceContext, input: ListSessions): Promise<Page<sessions.SessionRow>> {
  const { site, status, sbs, limit } = input;
  const filter = { status, customerExternalId: sbs };
  const rows = await sessions.selectSessions(homeOf(ctx, site), site.id, filter, beforeId(input), limit + 1);
  return pageOf(rows, limit, ({ id }) => id);
}
