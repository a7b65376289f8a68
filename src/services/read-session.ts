import type { Site } from "../store/directory/sites.ts";
import * as sessions from "../store/home/sessions.ts";
import { sessionUnknown } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export type { StoredSession } from "../store/home/sessions.ts";
export { SESSION_FIELDS } from "../store/schema.ts";

/** Everything stored of one session. @throws ServiceError `not_found` */
export async function readSession(
  ctx: ServiceContext,
  { site, chatId }: { site: Site; chatId: number },
): Promise<sessions.StoredSession> {
  const stored = await sessions.selectSession(homeOf(ctx, site), site.id, chatId);
  if (stored === undefined) throw sessionUnknown();
  return stored;
}
