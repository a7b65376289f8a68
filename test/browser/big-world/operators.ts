import { SHOWN } from "../shown-time.ts";
import { digits, insertRows, pick, range } from "./rows.ts";

type Admin = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/**
 * Makes tokens of each role, one of them expired, and console sessions of the ADMIN_TOKEN in other browsers.
 *
 * @returns the id of a token
 */
export async function seedOperators(admin: Admin, db: D1Database, siteId: number): Promise<string> {
  const billing = { name: "Billing of the shop", role: "viewer", site_id: siteId };
  const first = await admin<{ id: string }>("POST", "/admin/tokens", billing);
  await admin("POST", "/admin/tokens", { name: "Deployments", role: "owner", expires_in_days: 90 });
  await admin("POST", "/admin/tokens", { name: "Nightly export of all sessions into the warehouse", role: "operator" });
  const { id } = await admin<{ id: string }>("POST", "/admin/tokens", {
    name: "Contractor",
    role: "viewer",
    expires_in_days: 7,
  });
  const past = SHOWN - 3 * 86_400;
  await db
    .prepare("UPDATE admin_tokens SET created_at = ?, expires_at = ? WHERE id = ?")
    .bind(past - 604_800, past, id)
    .run();
  await db
    .prepare("UPDATE admin_tokens SET last_used_at = ? WHERE name = 'Deployments'")
    .bind(SHOWN - 5_400)
    .run();
  const sessions = range(4).map((index) => ({
    id: digits(`console session ${index}`, 64),
    created_at: SHOWN - (index + 1) * 7_200,
    expires_at: SHOWN + 36_000 - index * 7_200,
    who_kind: "root",
    who_id: "root",
    who_name: "ADMIN_TOKEN",
    browser: pick(["Firefox on Windows", "Safari on iOS", null, "Chrome on macOS"], index),
    address: `198.51.100.${index}/24`,
    last_used_at: SHOWN - index * 3_600,
    ended_at: null,
  }));
  await insertRows(db, "console_sessions", sessions);
  return first.id;
}
