import { and, type Column, eq, inArray, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { SITE_STATUSES, sites } from "../../../core/store/schema.ts";
import { eachRow, rowField } from "../json-rows.ts";
import { homeMetrics, siteMetrics } from "../usage-schema.ts";
import type { Counter, Gauges, HomeMetrics } from "./home-metrics.ts";

/** This file stores the reports of the homes in the directory, where a scrape reads them. */

/** The size of a home once a day: Unix seconds and bytes, the oldest first. */
export type DatedSizes = [at: number, bytes: number][];

/** The last gauges of a home, and its earlier sizes. It has no sizes when an older release made the last copy. */
type KnownGauges = Gauges & { sizes?: DatedSizes };

/**
 * The newest copy of a home's metrics that the directory has, and the stored sizes of the home.
 *
 * @returns `copy` 0 when it has none
 */
export async function selectCopy(directory: D1Database, home: string): Promise<{ copy: number; sizes: DatedSizes }> {
  const storedCopy = await drizzle(directory)
    .select({ copy: homeMetrics.copy, sizes: sizesOf(homeMetrics.gauges) })
    .from(homeMetrics)
    .where(eq(homeMetrics.home, home))
    .get();
  return { copy: storedCopy?.copy ?? 0, sizes: readSizes(storedCopy?.sizes ?? null) };
}

const sizesOf = (gauges: Column) => sql<string | null>`${gauges} ->> '$.sizes'`;

const readSizes = (text: string | null): DatedSizes => (text === null ? [] : (JSON.parse(text) as DatedSizes));

/** The last reported size of a home, its earlier sizes, and when the first of its sites was made. Times are Unix seconds. */
export interface HomeSize {
  home: string;
  at: number;
  bytes: number | null;
  sizes: DatedSizes;
  firstSiteAt: number | null;
}

/** A home smaller than this has room for a long time, so the age of its first site is not read. */
const SMALL_BYTES = 10_000_000;

/** The sizes of all homes that have reported theirs, in one query. */
export async function selectSizes(directory: D1Database): Promise<HomeSize[]> {
  const { home, at, gauges } = homeMetrics;
  const bytes = sql<number | null>`${gauges} ->> '$.size'`;
  // Ids rise with time, so the site with the lowest id is the oldest. For a home without sites, the query would read all sites.
  const firstSite = sql<number | null>`CASE WHEN ${bytes} >= ${SMALL_BYTES}
    THEN (SELECT ${sites.createdAt} FROM ${sites} WHERE ${sites.home} = ${home} ORDER BY ${sites.id} LIMIT 1) END`;
  const rows = await drizzle(directory)
    .select({
      home,
      at,
      bytes: bytes.as("bytes"),
      sizes: sizesOf(gauges).as("sizes"),
      firstSiteAt: firstSite.as("first_site_at"),
    })
    .from(homeMetrics)
    .all();
  return rows.map((row) => ({ ...row, sizes: readSizes(row.sizes) }));
}

/** D1 takes at most 2 MB in a parameter. JSON within JSON is longer than the JSON itself. */
const CHARACTERS_PER_STATEMENT = 400_000;

interface SiteRow {
  siteId: number;
  counters: string;
}

/** Divides rows into parts, each for one statement. */
function splitRows(rows: SiteRow[]): SiteRow[][] {
  const parts: SiteRow[][] = [];
  let charactersLeft = 0;
  for (const row of rows) {
    if (row.counters.length > charactersLeft) {
      parts.push([]);
      charactersLeft = CHARACTERS_PER_STATEMENT;
    }
    parts.at(-1)?.push(row);
    charactersLeft -= row.counters.length;
  }
  return parts;
}

/**
 * The statements that store a home's metrics. A copy that is older than the stored one changes nothing.
 *
 * @param sizes the sizes of the home to store
 */
export function writeMetrics(
  directory: D1Database,
  home: string,
  { copy, gauges: said, counters, sites: siteRows }: HomeMetrics,
  now: number,
  sizes: DatedSizes = [],
) {
  const gauges: KnownGauges = { ...said, sizes };
  const store = drizzle(directory);
  const newest = { at: now, copy, counters: JSON.stringify(counters), gauges: JSON.stringify(gauges) };
  const rows = [...siteRows].map(([siteId, of]) => ({ siteId, counters: JSON.stringify(of) }));
  return [
    store
      .insert(homeMetrics)
      .values({ home, ...newest })
      .onConflictDoUpdate({
        target: homeMetrics.home,
        // A newer copy may come from a run that began earlier.
        set: { ...newest, at: sql`max(${homeMetrics.at}, excluded.at)` },
        setWhere: sql`${homeMetrics.copy} < ${copy}`,
      }),
    // A site that was deleted meanwhile gets no row.
    ...splitRows(rows).map((part) =>
      store
        .insert(siteMetrics)
        .select(
          sql`SELECT ${sites.id}, ${copy}, ${rowField("$.counters")} FROM ${eachRow(part)} JOIN ${sites} ON ${sites.id} = ${rowField("$.siteId")}
            WHERE ${and(eq(sites.home, home), inArray(sites.status, SITE_STATUSES))}`,
        )
        .onConflictDoUpdate({
          target: siteMetrics.siteId,
          set: { copy: sql`excluded.copy`, counters: sql`excluded.counters` },
          setWhere: sql`${siteMetrics.copy} < excluded.copy`,
        }),
    ),
  ] as const;
}

/** The last report of a home. */
export interface KnownHome {
  home: string;
  /** When the home made it, in Unix seconds. */
  at: number;
  gauges: Gauges;
  counters: Counter[];
}

interface MetricsRow {
  home: string | null;
  siteId: number | null;
  at: number | null;
  gauges: string | null;
  counters: string;
}

/**
 * Everything that a scrape shows, in one query.
 *
 * @param includesSites whether to read the counters of each site too
 */
export async function selectMetrics(
  directory: D1Database,
  includesSites: boolean,
): Promise<{ homes: KnownHome[]; sites: Map<number, Counter[]> }> {
  const { home, at, gauges, counters } = homeMetrics;
  const homeRows = sql`SELECT ${home} AS home, NULL AS siteId, ${at} AS at, ${gauges} AS gauges, ${counters} AS counters FROM ${homeMetrics}`;
  const siteRows = sql`SELECT NULL, ${siteMetrics.siteId}, NULL, NULL, ${siteMetrics.counters} FROM ${siteMetrics}`;
  const rows = await drizzle(directory).all<MetricsRow>(
    includesSites ? sql`${homeRows} UNION ALL ${siteRows}` : homeRows,
  );
  const parseCounters = (text: string) => JSON.parse(text) as Counter[];
  return {
    homes: rows.flatMap((row) =>
      row.home === null || row.at === null
        ? []
        : [
            {
              home: row.home,
              at: row.at,
              gauges: JSON.parse(row.gauges ?? "{}") as Gauges,
              counters: parseCounters(row.counters),
            },
          ],
    ),
    sites: new Map(rows.flatMap((row) => (row.siteId === null ? [] : [[row.siteId, parseCounters(row.counters)]]))),
  };
}
