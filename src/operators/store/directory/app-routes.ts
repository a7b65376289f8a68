import { and, between, desc, eq, getTableColumns, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { notEndedCondition } from "../../../core/store/app-routes.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { appRoutes, sites } from "../../../core/store/schema.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";

/** An existing appid, and its site as the directory knows it. */
export interface KnownAppid {
  appid: string;
  siteId: number;
  siteName: string;
}

/** How many routes a search reads at most. It compares every route, because no index finds a slip in the first characters. */
const MOST_ROUTES_READ = 100_000;

/**
 * The appids of about the same length that share the first third, the middle or the last third with this one: up to 200, those that share
 * most first. Reads each route once, and a row of `sites` for each result.
 *
 * @param folded the wanted appid in small letters, o as 0, l and i as 1
 * @param slips  by how many characters the length may differ
 */
export function selectSimilarRoutes(db: D1Database, folded: string, slips: number): Promise<KnownAppid[]> {
  const store = drizzle(db);
  const appid = sql<string>`${appRoutes.appid}`.as("appid");
  const form = sql<string>`replace(replace(replace(lower(${appRoutes.appid}), 'o', '0'), 'l', '1'), 'i', '1')`.as(
    "form",
  );
  const routes = store
    .select({ appid, form, siteId: appRoutes.siteId })
    .from(appRoutes)
    .limit(MOST_ROUTES_READ)
    .as("routes");
  const third = Math.max(1, Math.floor(folded.length / 3));
  const [start, middle, end] = [folded.slice(0, third), folded.slice(third, -third), folded.slice(-third)];
  const thirds = [
    sql`substr(${routes.form}, 1, ${third}) = ${start}`,
    sql`(${middle} <> '' AND instr(${routes.form}, ${middle}) > 0)`,
    sql`substr(${routes.form}, ${-third}) = ${end}`,
  ];
  return store
    .select({ appid: routes.appid, siteId: routes.siteId, siteName: sites.name })
    .from(routes)
    .innerJoin(sites, eq(sites.id, routes.siteId))
    .where(
      and(
        notEndedCondition,
        between(sql`length(${routes.form})`, folded.length - slips, folded.length + slips),
        or(...thirds),
      ),
    )
    .orderBy(desc(sql`${sql.join(thirds, sql` + `)}`))
    .limit(200)
    .all();
}

/** A route as stored, with the home that it leads to, and the revision of its site in the directory. */
type StoredRoute = typeof appRoutes.$inferSelect & { home: string; siteRevision: number };

/** The route of an appid; undefined when it has none, or when its site is deleted: then the appid stays reserved. */
export function selectRouteToRelease(
  runtime: Runtime,
  db: D1Database,
  appid: string,
): Promise<StoredRoute | undefined> {
  const find = () =>
    drizzle(db)
      .select({ ...getTableColumns(appRoutes), home: sites.home, siteRevision: sites.revision })
      .from(appRoutes)
      .innerJoin(sites, eq(sites.id, appRoutes.siteId))
      .where(and(eq(appRoutes.appid, appid), notEndedCondition))
      .get();
  return withRetries(runtime, find);
}

/** The id of the site that an appid is reserved for, also of a deleted site; undefined when the appid is free. */
export async function selectReservation(runtime: Runtime, db: D1Database, appid: string): Promise<number | undefined> {
  const find = () =>
    drizzle(db).select({ siteId: appRoutes.siteId }).from(appRoutes).where(eq(appRoutes.appid, appid)).get();
  return (await withRetries(runtime, find))?.siteId;
}

/**
 * Reserves the route of an appid for a site, unless the appid has a route to another site. An existing route to this site gets the new
 * reservation.
 *
 * @param reservation a new random id for each call: a release that read the route before must not delete it
 * @param name        the name of the future app, for the audit log
 * @param answerBy    see {@link withRetries}
 * @returns the id of the site that the appid leads to
 */
export async function reserveRoute(
  runtime: Runtime,
  db: D1Database,
  { appid, siteId, reservation, name }: { appid: string; siteId: number; reservation: string; name: string },
  author: Author,
  answerBy?: number,
): Promise<number> {
  const store = drizzle(db);
  const isRoute = eq(appRoutes.appid, appid);
  const audited = {
    siteId: sql`${siteId}`,
    action: "app.routed" as const,
    subject: sql`${appid}`,
    details: sql`${JSON.stringify({ name })}`,
  };
  const batch = (attempt: number) => {
    // Each try has a reservation of its own, so that a late try never restores a reservation that was replaced.
    const ownReservation = `${reservation}.${attempt}`;
    return inOneBatch(db, {
      reserved: store.insert(appRoutes).values({ appid, siteId, reservation: ownReservation }).onConflictDoNothing(),
      audited: auditOf(db, author, audited, ONE_ROW, CHANGED),
      renewed: store
        .update(appRoutes)
        .set({ reservation: ownReservation })
        .where(and(isRoute, eq(appRoutes.siteId, siteId), sql`${appRoutes.reservation} IS NOT ${ownReservation}`)),
      stored: store.select({ siteId: appRoutes.siteId }).from(appRoutes).where(isRoute),
    });
  };
  const {
    stored: [storedRoute],
  } = await withRetries(runtime, batch, answerBy);
  return storedRoute?.siteId ?? siteId;
}

/**
 * Deletes a route, unless it has got another reservation since it was read.
 *
 * @returns whether the appid has no route now
 */
export async function deleteRoute(
  runtime: Runtime,
  db: D1Database,
  { appid, siteId, reservation }: Omit<StoredRoute, "siteRevision">,
  author: Author,
): Promise<boolean> {
  const store = drizzle(db);
  const isRoute = eq(appRoutes.appid, appid);
  const isSame = and(isRoute, eq(appRoutes.siteId, siteId), sql`${appRoutes.reservation} IS ${reservation}`);
  const audited = {
    siteId: sql`${siteId}`,
    action: "app.released" as const,
    subject: sql`${appid}`,
    details: sql`'{}'`,
  };
  const batch = () =>
    inOneBatch(db, {
      deleted: store.delete(appRoutes).where(isSame),
      audited: auditOf(db, author, audited, ONE_ROW, CHANGED),
      left: store.select({ siteId: appRoutes.siteId }).from(appRoutes).where(isRoute),
    });
  const { left } = await withRetries(runtime, batch);
  return left.length === 0;
}
