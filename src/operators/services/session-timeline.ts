import type { Site } from "../store/directory/sites.ts";
import { type SessionDelivery, type SessionEvent, selectTimeline } from "../store/home/session-timeline.ts";
import { homeOf, type ServiceContext, urlFor } from "./service-context.ts";
import type { StoredSession } from "./sessions.ts";

export type { SessionDelivery } from "../store/home/session-timeline.ts";

/** Something that happened to a session: a call, or an event. */
export type Happening =
  | { what: "opened"; at: number }
  | { what: "added"; at: number; addedBy: number; agents: StoredSession["participants"] }
  | { what: "event"; at: number; event: SessionEvent; deliveries: SessionDelivery[] };

/**
 * The history of a session, the oldest first: its opening, agents who joined later, and its events with their deliveries.
 *
 * @returns `isCut`: whether it may have more events
 */
export async function readTimeline(
  ctx: ServiceContext,
  { site, storedSession }: { site: Site; storedSession: StoredSession },
): Promise<{ happenings: Happening[]; isCut: boolean }> {
  const { session, participants } = storedSession;
  const opened = session.createdAt;
  const addedLater = Map.groupBy(
    participants.filter(({ addedAt }) => addedAt !== opened),
    ({ addedAt, addedBy }) => `${addedAt}/${addedBy}`,
  );
  const additions = [...addedLater.values()].flatMap((agents): Happening[] => {
    const [firstAgent] = agents;
    return firstAgent === undefined
      ? []
      : [{ what: "added", at: firstAgent.addedAt, addedBy: firstAgent.addedBy, agents }];
  });
  const times = [opened, ...additions.map(({ at }) => at)].sort((a, b) => a - b);
  const { events, deliveries, isCut } = await selectTimeline(homeOf(ctx, site), site.id, session.id, times);
  const eventHappenings = events.map((event): Happening => {
    const itsDeliveries = deliveries
      .filter(({ seq }) => seq === event.seq)
      .map((each) => ({ ...each, url: urlFor(ctx, each.url) }));
    return { what: "event", at: event.createdAt, event, deliveries: itsDeliveries };
  });
  // The sort is stable, so a change comes before its event of the same second.
  const happenings = [{ what: "opened" as const, at: opened }, ...additions, ...eventHappenings].sort(
    (a, b) => a.at - b.at,
  );
  return { happenings, isCut };
}
