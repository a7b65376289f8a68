import { expect, it } from "vitest";
import { CALLS, prepared } from "../../support/admin-calls.ts";
import { databaseOf } from "../../support/homes.ts";
import { World } from "../../support/world.ts";

/** @returns reads all that a home has of a site, but for its audit log */
async function readerOf({ siteId, home }: World): Promise<() => Promise<string>> {
  const db = databaseOf(home);
  const named =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%`site_id` integer%' AND name <> 'audit_log'";
  const { results: tables } = await db.prepare(named).all<{ name: string }>();
  const all = tables.map(({ name }) => db.prepare(`SELECT * FROM "${name}" WHERE site_id = ?`).bind(siteId));
  return async () => JSON.stringify((await db.batch(all)).map(({ results }) => results));
}

it.each(["main", "apac"])("a call that reads or hands over leaves all of a site in %s as it was", async (home) => {
  const world = await prepared(await World.create({}, home));
  const rows = await readerOf(world);
  const before = await rows();
  const writing: string[] = [];
  for (const { id, method, name, path, body } of CALLS) {
    if (method !== "GET" && id !== "exportCustomer") continue;
    expect([name, (await world.admin(method, path(world), body)).status]).toEqual([name, 200]);
    if ((await rows()) !== before) writing.push(name);
  }
  expect(writing).toEqual([]);
});
