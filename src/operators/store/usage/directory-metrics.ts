import { and, type Column, eq, inArray, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { SITE_STATUSES, sites } from "../../../core/store/schema.ts";
import { each, field } from "../json-rows.ts";
import { homeMetrics, siteMetrics } from "../usage-schema.ts";
import type { Counter, Gauges, HomeMetrics } from "./home-metrics.ts";

/** What the homes have said of themselves, where a scrape reads it. */

/** The size of a home once a day: Unix seconds and bytes, the oldest first. */
export type Sizes = [at: number, bytes: number][];

/** What a home last said of itself, and how large it was before. Without sizes while an older release copied it last. */
type KnownGauges = Gauges & { sizes?: Sizes };

/**
 * The newest copy of a home's metrics that the directory has, and the sizes that it keeps of the home.
 *
 * @returns `copy` 0 when it has none
 */
export async function selectCopy(directory: D1Database, home: string): Promise<{ copy: number; sizes: Sizes }> {
  const found = await drizzle(directory)
    .select({ copy: homeMetrics.copy, sizes: sizesOf(homeMetrics.gauges) })
    .from(homeMetrics)
    .where(eq(homeMetrics.home, home))
    .get();
  return { copy: found?.copy ?? 0, sizes: readSizes(found?.sizes ?? null) };
}

const sizesOf = (gauges: Column) => sql<string | null>`${gauges} ->> '$.sizes'`;

const readSizes = (text: string | null): Sizes => (text === null ? [] : (JSON.parse(text) as Sizes));

/** The size that a home last said, the sizes that it had before, and when the first of its sites was made. Times are Unix seconds. */
export interface HomeSize {
  home: string;
  at: number;
  bytes: number | null;
  sizes: Sizes;
  firstSiteAt: number | null;
}

/** A home below this has room for long, so nothing else of it is looked up. */
const SMALL_BYTES = 10_000_000;

/** The sizes of all homes that have said theirs, in one query. */
export async function selectSizes(directory: D1Database): Promise<HomeSize[]> {
  const { home, at, gauges } = homeMetrics;
  const bytes = sql<number | null>`${gauges} ->> '$.size'`;
  // Ids rise with time: the first site of a home is the oldest. A home without sites would read all of them.
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

/** A parameter of D1 has at most 2 MB. JSON in JSON is longer than it is by itself. */
const CHARACTERS_PER_STATEMENT = 400_000;

interface SiteRow {
  siteId: number;
  counters: string;
}

/** Rows in parts that one statement takes. */
function inParts(rows: SiteRow[]): SiteRow[][] {
  const parts: SiteRow[][] = [];
  let left = 0;
  for (const row of rows) {
    if (row.counters.length > left) {
      parts.push([]);
      left = CHARACTERS_PER_STATEMENT;
    }
    parts.at(-1)?.push(row);
    left -= row.counters.length;
  }
  return parts;
}

/**
 * The statements that take over a home's metrics. A copy that is older than the stored one changes nothing.
 *
 * @param sizes the sizes to keep of the home
 */
export function writeMetrics(
  directory: D1Database,
  home: string,
  { copy, gauges: said, counters, sites: ofSites }: HomeMetrics,
  now: number,
  sizes: Sizes = [],
) {
  const gauges: KnownGauges = { ...said, sizes };
  const store = drizzle(directory);
  const newest = { at: now, copy, counters: JSON.stringify(counters), gauges: JSON.stringify(gauges) };
  const rows = [...ofSites].map(([siteId, of]) => ({ siteId, counters: JSON.stringify(of) }));
  return [
    store
      .insert(homeMetrics)
      .values({ home, ...newest })
      .onConflictDoUpdate({
        target: homeMetrics.home,
        // The newer copy may be of a run that began earlier.
        set: { ...newest, at: sql`max(${homeMetrics.at}, excluded.at)` },
        setWhere: sql`${homeMetrics.copy} < ${copy}`,
      }),
    // A site that has ended meanwhile gets no row any more.
    ...inParts(rows).map((part) =>
      store
        .insert(siteMetrics)
        .select(
          sql`SELECT ${sites.id}, ${copy}, ${field("$.counters")} FROM ${each(part)} JOIN ${sites} ON ${sites.id} = ${field("$.siteId")}
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

/** What a home last said of itself. */
export interface KnownHome {
  home: string;
  /** When it said so, in Unix seconds. */
  at: number;
  gauges: Gauges;
  counters: Counter[];
}

interface Row {
  home: string | null;
  siteId: number | null;
  at: number | null;
  gauges: string | null;
  counters: string;
}

/**
 * Everything that a scrape shows, in one query.
 *
 * @param bySite whether to read the counters of each site too
 */
export async function selectMetrics(
  directory: D1Database,
  bySite: boolean,
): Promise<{ homes: KnownHome[]; sites: Map<number, Counter[]> }> {
  const { home, at, gauges, counters } = homeMetrics;
  const ofHomes = sql`SELECT ${home} AS home, NULL AS siteId, ${at} AS at, ${gauges} AS gauges, ${counters} AS counters FROM ${homeMetrics}`;
  const ofSites = sql`SELECT NULL, ${siteMetrics.siteId}, NULL, NULL, ${siteMetrics.counters} FROM ${siteMetrics}`;
  const rows = await drizzle(directory).all<Row>(bySite ? sql`${ofHomes} UNION ALL ${ofSites}` : ofHomes);
  const read = (text: string) => JSON.parse(text) as Counter[];
  return {
    homes: rows.flatMap((row) =>
      row.home === null || row.at === null
        ? []
        : [
            {
              home: row.home,
              at: row.at,
              gauges: JSON.parse(row.gauges ?? "{}") as Gauges,
              counters: read(row.counters),
            },
          ],
    ),
    sites: new Map(rows.flatMap((row) => (row.siteId === null ? [] : [[row.siteId, read(row.counters)]]))),
  };
}
