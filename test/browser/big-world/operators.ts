import { SHOWN } from "../shown-time.ts";
import { digits, insertRows, pick, range } from "./rows.ts";

type Admin = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/**
 * Makes tokens of each role, one of them expired, people with and without a site, and console sessions of the ADMIN_TOKEN and of a person
 * in other browsers.
 *
 * @returns the ids of a token and of a person
 */
export async function seedOperators(
  admin: Admin,
  db: D1Database,
  siteId: number,
): Promise<{ token: string; person: string }> {
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
  const mei = { name: "Mei of the shop", role: "operator", site_id: siteId };
  const person = await admin<{ id: string }>("POST", "/admin/people", mei);
  await admin("POST", "/admin/people", { name: "Auditor for the yearly review", role: "viewer", expires_in_days: 30 });
  await admin("POST", "/admin/people", { name: "Ada", role: "owner" });
  await insertRows(db, "people", [
    {
      id: `per_${digits("person of Access", 32)}`,
      email: "bo.with.a.long.address@customer-support.example.com",
      name: null,
      hash: null,
      role: "viewer",
      site_id: null,
      created_at: past,
      expires_at: SHOWN - 86_400,
      last_used_at: SHOWN - 2 * 86_400,
      deleted_at: null,
    },
  ]);
  const sessions = range(4).map((index) => ({
    id: digits(`console session ${index}`, 64),
    created_at: SHOWN - (index + 1) * 7_200,
    expires_at: SHOWN + 36_000 - index * 7_200,
    ...(index === 3
      ? { who_kind: "person", who_id: person.id, who_name: mei.name }
      : { who_kind: "root", who_id: "root", who_name: "ADMIN_TOKEN" }),
    browser: pick(["Firefox on Windows", "Safari on iOS", null, "Chrome on macOS"], index),
    address: `198.51.100.${index}/24`,
    last_used_at: SHOWN - index * 3_600,
    ended_at: null,
  }));
  await insertRows(db, "console_sessions", sessions);
  return { token: first.id, person: person.id };
}
