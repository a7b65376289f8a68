import { SHOWN } from "../shown-time.ts";
import { range } from "./rows.ts";

type Admin = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** Makes a site in each other state, in `apac`. @returns the paths of their pages */
export async function seedOtherSites(admin: Admin, db: D1Database) {
  const create = async (name: string) =>
    (await admin<{ id: number }>("POST", "/admin/sites", { name, home: "apac" })).id;
  const closed = await create(
    "Southwind Outlet of Great and Little Harbours, Fisheries and Northern Islands, Customer Care",
  );
  await admin("PATCH", `/admin/sites/${closed}`, { status: "closed" });
  const empty = await create("西风商店");
  const ended = await create("Harbour Outlet");
  await admin("PATCH", `/admin/sites/${ended}`, { status: "closed" });
  await admin("DELETE", `/admin/sites/${ended}`, { name: "Harbour Outlet" });
  const unfinishedSite = await db
    .prepare(
      `INSERT INTO sites (name, home, first_chat_id, status, revision, created_at)
       VALUES ('Eastwind', 'apac', 1, 'creating', 0, ?) RETURNING id`,
    )
    .bind(SHOWN - 3_600)
    .first<{ id: number }>();
  const paths = Object.entries({ closed, empty, ended, unfinished: unfinishedSite?.id ?? 0 }).map(([name, id]) => [
    name,
    `/console/sites/${id}`,
  ]);
  return Object.fromEntries(paths) as Record<"closed" | "empty" | "ended" | "unfinished", string>;
}

const DAY = 86_400;
const MEGABYTE = 1_000_000;

/** Makes the sizes that the homes reported for a month. `apac` will be full in 31 days, because D1 takes 10 GB. */
export async function seedHomes(db: D1Database): Promise<void> {
  const gauges = {
    openSites: 1,
    closedSites: 0,
    pending: 90,
    failed: 52,
    oldestPendingAt: SHOWN - 4_000,
    failing: 2,
    disabled: 3,
    pruneLag: 12,
    completeUntil: SHOWN - 1_920,
  };
  for (const [home, megabytes, daily] of [
    ["main", 2_140, 4],
    ["apac", 9_310, 22],
  ] as const) {
    const sizes = range(30).map((index) => [SHOWN - (30 - index) * DAY, (megabytes - (30 - index) * daily) * MEGABYTE]);
    await db
      .prepare("INSERT OR REPLACE INTO home_metrics (home, at, copy, counters, gauges) VALUES (?, ?, 1, '[]', ?)")
      .bind(home, SHOWN - 60, JSON.stringify({ size: megabytes * MEGABYTE, ...gauges, sizes }))
      .run();
  }
  await db
    .prepare("UPDATE sites SET created_at = ? - id * 86400 WHERE status <> 'creating'")
    .bind(SHOWN - 60 * DAY)
    .run();
}
