import type { Site } from "../store/directory/sites.ts";
import * as counts from "../store/home/session-counts.ts";
import type { SessionStatus } from "../store/home/sessions.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export { COUNT_LIMIT } from "../store/home/session-counts.ts";

/**
 * Counts a site's sessions created at or after each time, by status. No count exceeds `COUNT_LIMIT`.
 *
 * @param input `since` in Unix seconds
 */
export function countSessions(
  ctx: ServiceContext,
  { site, since }: { site: Site; since: readonly number[] },
): Promise<Record<SessionStatus, number>[]> {
  return counts.selectSessionCounts(homeOf(ctx, site), site.id, since);
}
