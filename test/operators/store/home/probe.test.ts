import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/d1";
import { expect, it } from "vitest";
import { databaseFault } from "../../../../src/core/store/run-batch.ts";
import { ALL_NAMES, probeHome } from "../../../../src/operators/store/home/probe.ts";

const reasonOf = (db: D1Database) =>
  probeHome(db).then(
    () => "ok",
    (error: unknown) => databaseFault(error)?.context.reason,
  );

it("a home counts as migrated when it has every table and column of this release, and the probe reads no rows", async () => {
  const db = env.UNMIGRATED;
  for (const count of [0, 1]) {
    await applyD1Migrations(db, env.MIGRATIONS.slice(0, count));
    expect(await reasonOf(db)).toBe("d1_not_migrated");
  }
  await applyD1Migrations(db, env.MIGRATIONS);
  expect(await reasonOf(db)).toBe("ok");
  expect((await drizzle(env.DB).run(ALL_NAMES)).meta.rows_read).toBe(0);
  await db.exec("ALTER TABLE webhooks RENAME COLUMN failing_since TO failing_from");
  expect(await reasonOf(db)).toBe("d1_not_migrated");
  await db.exec("ALTER TABLE webhooks RENAME COLUMN failing_from TO failing_since; ALTER TABLE jobs RENAME TO works");
  expect(await reasonOf(db)).toBe("d1_not_migrated");
});
