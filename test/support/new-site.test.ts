import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { databaseOf } from "./homes.ts";
import { Isolate } from "./isolate.ts";
import { newSite, type Site } from "./new-site.ts";

const operators = new Isolate();

describe.each(["main", "apac"])("in the home %s", (home) => {
  it("newSite() stores the same rows as the admin API does for a new site and its app", async () => {
    const site = await operators.admin("POST", "/admin/sites", { name: "Site", home });
    const { id: siteId } = await site.json<{ id: number }>();
    const app = await operators.admin("POST", `/admin/sites/${siteId}/apps`, { name: "App" });
    const { appid, secret } = await app.json<{ appid: string; secret: string }>();
    expect(await storedRows(await newSite(home))).toEqual(await storedRows({ siteId, home, appid, secret }));
  });
});

/** All stored rows of a site and its app, sorted, with placeholders for ids and random values. */
async function storedRows({ siteId, home, appid }: Site): Promise<string[]> {
  const read = async (db: D1Database, table: string, id = "site_id") => {
    const { results } = await db.prepare(`SELECT * FROM ${table} WHERE ${id} = ?`).bind(siteId).all();
    return results.map(({ id: _, ...row }) => JSON.stringify(row));
  };
  const [directory, own] = [env.DB, databaseOf(home)];
  const rows = await Promise.all([
    read(directory, "sites", "id"),
    read(directory, "app_routes"),
    read(directory, "audit_log"),
    read(own, "home_sites"),
    read(own, "apps"),
    read(own, "audit_log"),
    env.CREDENTIALS.get(`app:${appid}`),
    env.CREDENTIALS.get(`site-ids:${String(1_000_000_000 - siteId).padStart(10, "0")}`),
  ]);
  const texts = rows.flat().map((row) =>
    String(row)
      .replaceAll(appid, "APPID")
      .replaceAll(/("site_?id":|"subject":")\d+/gi, "$1ID")
      .replaceAll(/[0-9a-f-]{36}(\.1)?|[0-9a-f]{32}|v2\.[\w.-]+/g, "RANDOM"),
  );
  return texts.sort();
}
