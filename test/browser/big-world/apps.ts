import { SHOWN } from "../shown-time.ts";
import { digits } from "./rows.ts";

export interface SeededApp {
  appid: string;
  secret: string;
  /** The versions of its secrets. */
  version: string;
  previous?: string;
}

type Admin = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** Makes eight apps: two of the four that call have an overlap, running or ended. Two are revoked, and two have long names. */
export async function seedApps(admin: Admin, db: D1Database, siteId: number) {
  const issue = async (name: string, length = 32) => {
    const appid = digits(name, length);
    const app = { name, appid, secret: `secret of ${appid}, for pictures only` };
    return admin<{ appid: string; secret: string }>("POST", `/admin/sites/${siteId}/apps`, app);
  };
  const shop = await issue("Shop back end");
  const warehouse = await issue("Warehouse");
  const mobile = await issue("Mobile app");
  const till = await issue("门店收银系统");
  const long = await issue("Integration of the customer relationship management system with the ticket desk, night");
  await issue("Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamten".padEnd(100, "W"), 64);
  for (const name of ["Old CRM", "Trial of 2024"]) await admin("DELETE", `/admin/apps/${(await issue(name)).appid}`);
  const rotate = ({ appid }: { appid: string }) =>
    admin<{ secret: string }>("POST", `/admin/apps/${appid}/rotate`, { overlap_seconds: 86_400 });
  const overlappingApp = { ...warehouse, previousSecret: warehouse.secret, secret: (await rotate(warehouse)).secret };
  await rotate(mobile);
  const set = (changes: string, ...values: unknown[]) =>
    db
      .prepare(`UPDATE apps SET ${changes}`)
      .bind(...values)
      .run();
  await set("created_at = ? WHERE site_id = ?", SHOWN - 60 * 86_400, siteId);
  await set("revoked_at = ? WHERE revoked_at IS NOT NULL", SHOWN - 8 * 86_400);
  await set("previous_expires_at = ? WHERE appid = ?", SHOWN + 5_000, warehouse.appid);
  await set("previous_expires_at = ? WHERE appid = ?", SHOWN - 7_200, mobile.appid);
  // This is left by a call that issues an app and stopped halfway.
  await db.prepare("INSERT INTO app_routes (appid, site_id) VALUES ('begun-and-never-issued', ?)").bind(siteId).run();
  const versions = await db
    .prepare("SELECT appid, version, previous_version AS previous FROM apps WHERE site_id = ?")
    .bind(siteId)
    .all<{ appid: string; version: string; previous: string | null }>();
  const active = [shop, warehouse, mobile, till].map((app): SeededApp => {
    const row = versions.results.find(({ appid }) => appid === app.appid);
    const previous = row?.previous ?? undefined;
    return { ...app, version: row?.version ?? "", ...(previous !== undefined && { previous }) };
  });
  return {
    active,
    shopApp: shop,
    till,
    overlappingApp,
    shop: shop.appid,
    overlapping: warehouse.appid,
    overlapEnded: mobile.appid,
    long: long.appid,
    revoked: digits("Old CRM"),
    missing: "begun-and-never-issued",
  };
}
