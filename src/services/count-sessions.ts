import { homeDatabase } from "../config.ts";
import * as counts from "../store/home/session-counts.ts";
import type { SessionStatus } from "../store/home/sessions.ts";
import type { ServiceContext } from "./service-context.ts";

export { COUNT_LIMIT } from "../store/home/session-counts.ts";

/**
 * Counts a site's sessions created at or after each time, by status. No count exceeds `COUNT_LIMIT`.
 *
 * @param input `since` in Unix seconds
 */
export function countSessions(
  { config }: ServiceContext,
  { siteId, since }: { siteId: number; since: readonly number[] },
): Promise<Record<SessionStatus, number>[]> {
  return counts.countSessions(homeDatabase(config, siteId), siteId, since);
}
