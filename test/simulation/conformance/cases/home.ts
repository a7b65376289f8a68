import type { Tables } from "./tables.ts";

/** An empty database, and the statements of the service's migrations. */
export interface Store extends Tables {
  migrations: readonly string[];
}

/** Unix seconds. */
export const NOW = 1_800_000_000;

export const APP = { siteId: 7, appid: "a".repeat(32), version: "v1", previousVersion: "v0" };

/**
 * Applies the migrations as wrangler does. Inserts two sites with an app each: the first has events, the second is
 * closed. The first has agents 1 to 3, and agent 3 is disabled.
 */
export async function madeHome({ db, create, migrations }: Store): Promise<D1Database> {
  await create(...migrations);
  const insert = (table: string, rows: unknown[][]) =>
    rows.map((row) => db.prepare(`INSERT INTO ${table} VALUES (${row.map(() => "?").join(", ")})`).bind(...row));
  await db.batch([
    ...insert("sites", [
      [APP.siteId, "Site", "main", 1, "open", 0, NOW, 0, null],
      [8, "Closed", "main", 900, "closed", 2, NOW, 0, null],
    ]),
    ...insert("home_sites", [
      [APP.siteId, "Site", "open", 0, 0, NOW, 1, 0, null],
      [8, "Closed", "closed", 899, 2, NOW, 0, 0, null],
    ]),
    ...insert("app_routes", [
      [APP.appid, APP.siteId, null],
      ["closed", 8, null],
    ]),
    ...insert("apps", [
      [APP.siteId, APP.appid, "App", APP.version, "sealed 1", APP.previousVersion, "sealed 0", NOW + 60, null, NOW],
      [8, "closed", "Closed", "v8", "sealed 8", null, null, null, null, NOW],
    ]),
    ...insert("agents", [
      [APP.siteId, 1, "王伟", "normal", 0],
      [APP.siteId, 2, "Li", "normal", 0],
      [APP.siteId, 3, "Gone", "disabled", 0],
    ]),
  ]);
  return db;
}

/** Every row of every table, in the table's order, and the schema. */
export async function everything(db: D1Database): Promise<Record<string, unknown>> {
  const madeTables = "FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'";
  const tables = (
    await db.prepare(`SELECT name ${madeTables} AND type = 'table' ORDER BY name`).raw<[string]>()
  ).flat();
  const [schema, ...rows] = await db.batch([
    db.prepare(`SELECT name, sql ${madeTables} ORDER BY name`),
    ...tables.map((table) => db.prepare(`SELECT * FROM ${table}`)),
  ]);
  const all = { schema: schema?.results, ...Object.fromEntries(tables.map((table, i) => [table, rows[i]?.results])) };
  // D1 has tables of its own, so its databases have more bytes.
  const text = JSON.stringify(all).replaceAll(/(size\\":|sizes\\":\[\[\d+,)\d+/g, "$10");
  return JSON.parse(text) as Record<string, unknown>;
}
