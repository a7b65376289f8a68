import { homeDatabase } from "../config.ts";
import * as counts from "../store/home/count-sessions.ts";
import type { SessionStatus } from "../store/home/sessions.ts";
import type { ServiceContext } from "./context.ts";

export { COUNT_LIMIT } from "../store/home/count-sessions.ts";

/**
 * How many of a site's sessions were created at or after each time, by status. No count goes beyond `COUNT_LIMIT`.
 *
 * @param input `since` in Unix seconds
 */
export function countSessions(
  { config }: ServiceContext,
  { siteId, since }: { siteId: number; since: readonly number[] },
): Promise<Record<SessionStatus, number>[]> {
  return counts.countSessions(homeDatabase(config, siteId), siteId, since);
}
