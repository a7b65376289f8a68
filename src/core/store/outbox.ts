import { type Column, type SQL, sql } from "drizzle-orm";
import { type Claim, type GatedWrite, gatedStatement, insertAccepted, literal } from "./claim.ts";
import { deliveries, events, webhooks } from "./event-schema.ts";
import { homeSites, nonces } from "./schema.ts";
import type { Placeholders } from "./statement.ts";

/**
 * The outbox: on a site with events, an accepted call writes an event and its deliveries in its own batch. So there is no event
 * without its session, and no session without its event. On other sites a batch has none of these statements. The gate of claim.ts
 * refuses a call whose record of the app is wrong about the site's events.
 */

/** The seq of a site's next event, as a table `next_event` with one row. The table has no row when `where` does not hold. */
export const nextEvent = (siteId: SQL | number, where?: SQL): SQL => sql`(SELECT
    max(${homeSites.eventSeqFloor}, coalesce((SELECT max(${events.seq}) FROM ${events} WHERE ${events.siteId} = ${siteId}), 0)) + 1 AS seq
  FROM ${homeSites} WHERE ${homeSites.siteId} = ${siteId} ${where === undefined ? sql`` : sql`AND ${where}`}) AS next_event`;

/** JSON that starts with the event's seq: `{"seq":7,…}`. Needs `next_event` in FROM. */
export const eventData = (fields: Record<string, SQL | Column>): SQL =>
  sql`json_object('seq', next_event.seq${sql.join(Object.entries(fields).map(([name, value]) => sql`, ${literal(name)}, ${value}`))})`;

export interface EventOf<Values> {
  /** The event's type, such as `session.created`. Receivers choose events by type. */
  type: string;
  /** The fields of `data` besides `seq` and `appid`. `nonces.sessionId` is the session. */
  data: (value: Placeholders<Values>) => Record<string, SQL | Column>;
  /** Further tables that `data` uses. Each must give exactly one row for an accepted call. */
  join?: (value: Placeholders<Values>) => SQL;
}

/** Inserts the event. Its data never changes afterwards, but may be erased. */
export const insertEvent = <Values extends Claim>(
  { type, data, join }: EventOf<Values>,
  v: Placeholders<Values>,
): GatedWrite =>
  insertAccepted(
    v,
    events,
    {
      siteId: v.siteId,
      seq: sql`next_event.seq`,
      id: v.eventId,
      type: literal(type),
      sessionId: nonces.sessionId,
      createdAt: v.now,
      data: eventData({ appid: v.appid, ...data(v) }),
    },
    { join: sql`CROSS JOIN ${nextEvent(v.siteId)} ${join?.(v) ?? sql``}` },
  );

/** Inserts a delivery for each enabled webhook that wants the event, due at once. Returns the ids of these webhooks. */
export const insertDeliveries = gatedStatement<Claim, { webhook_id: string }>((v) =>
  insertAccepted(
    v,
    deliveries,
    {
      siteId: v.siteId,
      webhookId: webhooks.id,
      seq: events.seq,
      status: sql`'pending'`,
      attempts: sql`0`,
      nextAttemptAt: v.now,
      createdAt: v.now,
    },
    {
      // The batch has just written its event, so the site's newest event is that one.
      join: sql`CROSS JOIN ${events} ON ${events.siteId} = ${v.siteId}
          AND ${events.seq} = (SELECT max(seq) FROM ${events} AS newest WHERE newest.site_id = ${v.siteId})
        CROSS JOIN ${webhooks} ON ${webhooks.siteId} = ${v.siteId} AND ${webhooks.status} = 'enabled'
          AND EXISTS (SELECT 1 FROM json_each(${webhooks.events}) AS wanted WHERE wanted.value = ${events.type})`,
      returning: deliveries.webhookId,
    },
  ),
);
