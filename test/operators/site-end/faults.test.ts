import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/d1";
import { describe, expect, it } from "vitest";
import { issueApp } from "../../../src/operators/services/apps.ts";
import { addWebhook } from "../../../src/operators/services/webhooks.ts";
import { selectSite } from "../../../src/operators/store/directory/sites.ts";
import { STATEMENTS_OF_REMOVAL_BATCH } from "../../../src/operators/store/home/old-sessions.ts";
import { countEvents, selectUncounted } from "../../../src/operators/store/usage/count-events.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { HOMES, seedCustomer } from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { freePlan } from "../../support/settle-home.ts";
import {
  DAY,
  deleteSite,
  endSite,
  patchSite,
  pruneAt,
  pruneEnded,
  readSite,
  tablesLeft,
} from "../../support/site-end.ts";
import { NOW, World } from "../../support/world.ts";

/** What faults do to the deletion of a site and to retention. */

/** A database that loses the answer of its n-th batch. The batch is run or not. */
function losing(db: D1Database, n: number, isDone: boolean): D1Database {
  let batches = 0;
  const batch = async <T>(statements: D1PreparedStatement[]) => {
    batches++;
    if (batches !== n) return db.batch<T>(statements);
    if (isDone) await db.batch<T>(statements);
    // An error that is not retried.
    throw new Error("D1_ERROR: D1 DB is overloaded.");
  };
  return replacing(db, { batch });
}

describe.each(HOMES)("a site in %s whose deletion meets a fault", (home) => {
  const binding = home === "main" ? "DB" : "HOME_APAC";
  /** The homes of a cron run, with another database for this home. */
  const homesWith = (db: D1Database) => new Map(Object.entries({ main: env.DB, apac: env.HOME_APAC, [home]: db }));

  async function closedWorld() {
    const world = await World.create({}, home);
    await world.chatId();
    await patchSite(world, { status: "closed" });
    return world;
  }

  it("a deletion of a site is all or nothing when a batch fails, and completes when the call is repeated", async () => {
    // The directory is in main, and takes one more batch.
    for (const n of home === "main" ? [1, 2, 3] : [1, 2]) {
      const world = await closedWorld();
      const { sessions, messages } = await world.stored();
      for (const isDone of [false, true]) {
        const faulty = world.anotherIsolate({ [binding]: losing(databaseOf(home), n, isDone) });
        expect((await deleteSite(faulty)).status).toBe(503);
      }
      await pruneEnded(NOW);
      // The cron continues a deletion that the directory knows.
      const remaining = n === 1 ? { sessions, messages } : { sessions: [], messages: [] };
      expect(await world.stored()).toMatchObject(remaining);
      expect((await patchSite(world, { status: "open" })).status).toBeOneOf([404, 409]);
      expect((await world.anotherIsolate().create()).status).not.toBe(200);
      const { status, body } = await deleteSite(world);
      expect(status).toBe(202);
      await pruneEnded(NOW);
      expect(await tablesLeft(world)).toEqual([]);
      expect((await deleteSite(world)).body).toEqual(body);
    }
  });

  it("a deletion of a site begins once when several operators ask at the same time", async () => {
    const world = await closedWorld();
    const answers = await Promise.all([1, 2, 3].map(() => deleteSite(world.anotherIsolate())));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    const { audit } = await world.operated();
    expect(audit.filter(({ action }) => action === "site.deletion_begun")).toHaveLength(1);
    await pruneEnded(NOW);
    expect(await tablesLeft(world)).toEqual([]);
  });

  it("a deletion of a site is 503 while its home or the directory is closed", async () => {
    const world = await closedWorld();
    for (const other of new Set([home, "main"])) {
      const shut = world.anotherIsolate(closedHomeVars(other));
      expect((await deleteSite(shut)).status).toBe(503);
      expect(await readSite(world)).toMatchObject({ status: "closed", deletion: null });
    }
  });

  it("a deletion of a site ends without a fault although two crons work on it together", async () => {
    const world = await World.create({}, home);
    await seedCustomer(world, "one of many", 250);
    await endSite(world);
    let isFirst = true;
    // Another run removes the first sessions after this run has found them.
    const batch = async <T>(statements: D1PreparedStatement[]) => {
      if (statements.length === STATEMENTS_OF_REMOVAL_BATCH && isFirst) {
        isFirst = false;
        await databaseOf(home).batch(statements);
      }
      return databaseOf(home).batch<T>(statements);
    };
    await pruneEnded(NOW, homesWith(replacing(databaseOf(home), { batch })));
    expect((await world.stored()).sessions).toHaveLength(50);
    await pruneEnded(NOW);
    expect(await tablesLeft(world)).toEqual([]);
  });

  it("a deleted site keeps its row while a slow run of the cron still counts its events", async () => {
    const world = await World.create({}, home);
    await patchSite(world, { events: true });
    await world.chatId();
    await endSite(world);
    const db = databaseOf(home);
    const slow = (await selectUncounted(db, 0, 1_000)).filter(({ siteId }) => siteId === world.siteId);
    expect(slow).toHaveLength(1);
    let isLate = false;
    // The last batch of a home for a site. Its events are gone then, and this run has found nothing left.
    const batch = async <T>(statements: D1PreparedStatement[]) => {
      if (!isLate && (await tablesLeft(world)).join() === `${home}.home_sites`) {
        isLate = true;
        await drizzle(db).batch(countEvents(db, slow));
      }
      return db.batch<T>(statements);
    };
    await pruneEnded(NOW, homesWith(replacing(db, { batch })));
    expect(isLate).toBe(true);
    expect(await tablesLeft(world)).toEqual([`${home}.counted_events`, `${home}.home_sites`]);
    expect((await readSite(world)).status).toBe("deleting");
    await pruneEnded(NOW);
    expect(await tablesLeft(world)).toEqual([]);
    expect((await readSite(world)).status).toBe("deleted");
  });

  it("a deletion of a site ends although the cron loses the answer of any batch", async () => {
    const world = await World.create({}, home);
    await world.chatId();
    await endSite(world);
    // Each run continues behind the batch whose answer was lost: sessions found, sessions deleted, the site's row, the directory's.
    for (const n of home === "main" ? [1, 2, 1, 2] : [1, 2, 1]) {
      await expect(pruneEnded(NOW, homesWith(losing(databaseOf(home), n, true)))).rejects.toThrow("unavailable");
    }
    await pruneEnded(NOW);
    expect(await tablesLeft(world)).toEqual([]);
    expect((await readSite(world)).status).toBe("deleted");
  });
});

describe("a deletion in apac that was not stored everywhere", () => {
  it("a deletion in apac is carried out by the cron of apac, not by that of main, where the directory is", async () => {
    const world = await World.create({}, "apac");
    await world.chatId();
    await patchSite(world, { status: "closed" });
    // The second batch in apac notes that the directory and KV have stored the deletion.
    const faulty = world.anotherIsolate({ HOME_APAC: losing(env.HOME_APAC, 2, false) });
    expect((await deleteSite(faulty)).status).toBe(503);
    await pruneEnded(NOW, new Map([["main", env.DB]]));
    expect((await world.stored()).sessions).toHaveLength(1);
    expect((await readSite(world)).status).not.toBe("deleted");
    await deleteSite(world);
    await pruneEnded(NOW, new Map([["main", env.DB]]));
    expect(await readSite(world)).toMatchObject({ status: "deleting", deletion: { done_at: null } });
    await pruneEnded(NOW);
    expect(await tablesLeft(world)).toEqual([]);
  });

  it("the cron continues a deletion in apac only when the directory has it", async () => {
    const world = await World.create({}, "apac");
    await world.chatId();
    await patchSite(world, { status: "closed" });
    const row = "INSERT INTO site_deletions VALUES (?, ?, 'apac', ?, NULL, NULL)";
    await env.HOME_APAC.prepare(row).bind(world.siteId, crypto.randomUUID(), NOW).run();
    await pruneEnded(NOW);
    expect((await world.stored()).sessions).toHaveLength(1);
    await env.DB.prepare("UPDATE sites SET status = 'deleting' WHERE id = ?").bind(world.siteId).run();
    await pruneEnded(NOW);
    expect(await tablesLeft(world)).toEqual([]);
  });
});

it("a call that adds an app or a webhook is refused when the deletion of the site began meanwhile", async () => {
  const world = await World.create({}, "apac");
  const site = await selectSite(env.DB, world.siteId);
  await endSite(world);
  if (site === undefined) throw new Error("the site is not in the directory");
  const ctx = contextAt(NOW);
  await expect(issueApp(ctx, { site, name: "Late" })).rejects.toMatchObject({ code: "not_found" });
  const url = "https://hooks.example.com/";
  await expect(addWebhook(ctx, { site, url })).rejects.toMatchObject({ code: "not_found" });
  await pruneEnded(NOW);
  expect(await tablesLeft(world)).toEqual([]);
});

it("deleting a site and old sessions takes several runs on Workers Free, with 50 queries each", async () => {
  const [ended, old] = [await World.create({}, "apac"), await World.create()];
  for (const world of [ended, old]) {
    world.clock.now = NOW - 40 * DAY;
    await world.chatId();
    world.clock.now = NOW;
  }
  await endSite(ended);
  await patchSite(old, { retention_days: 30 });
  let runs = 0;
  while (runs < 40 && ((await readSite(ended)).status !== "deleted" || (await old.stored()).sessions.length > 0)) {
    runs++;
    const homes = freePlan({ main: env.DB, apac: env.HOME_APAC });
    await pruneAt(NOW, {}, new Map(Object.entries(homes))).catch(() => {});
  }
  expect([await tablesLeft(ended), (await old.stored()).sessions]).toEqual([[], []]);
  expect((await readSite(ended)).status).toBe("deleted");
  expect(runs).toBeGreaterThan(1);
});
