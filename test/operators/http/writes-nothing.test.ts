import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { CALLS, prepared } from "../../support/admin-calls.ts";
import { World } from "../../support/world.ts";

/** @returns a function that reads all that a database has of a site, except its audit log */
async function readerOf(db: D1Database, { siteId }: World): Promise<() => Promise<string>> {
  const query =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%`site_id` integer%' AND name <> 'audit_log'";
  const { results: tables } = await db.prepare(query).all<{ name: string }>();
  const all = tables.map(({ name }) => db.prepare(`SELECT * FROM "${name}" WHERE site_id = ?`).bind(siteId));
  return async () => JSON.stringify((await db.batch(all)).map(({ results }) => results));
}

it("a call that only reads changes nothing of a site, in the directory or in its home", async () => {
  const world = await prepared(await World.create({}, "apac"));
  const readers = await Promise.all([env.DB, env.HOME_APAC].map((db) => readerOf(db, world)));
  const rows = () => Promise.all(readers.map((read) => read()));
  const before = await rows();
  for (const { id, method, name, path, body } of CALLS) {
    if (method !== "GET" && id !== "exportCustomer") continue;
    expect([name, (await world.admin(method, path(world), body)).status]).toEqual([name, 200]);
  }
  expect(await rows()).toEqual(before);
});
