import { homeDatabase } from "../config.ts";
import * as sessions from "../store/home/sessions.ts";
import { sessionUnknown } from "./refusals.ts";
import type { ServiceContext } from "./service-context.ts";

export type { StoredSession } from "../store/home/sessions.ts";

/** Everything stored of one session. @throws ServiceError `not_found` */
export async function readSession(
  { config }: ServiceContext,
  { siteId, chatId }: { siteId: number; chatId: number },
): Promise<sessions.StoredSession> {
  const stored = await sessions.readSession(homeDatabase(config, siteId), siteId, chatId);
  if (stored === undefined) throw sessionUnknown();
  return stored;
}
