import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/d1";
import { describe, expect, it } from "vitest";
import { issueApp } from "../../../src/services/apps.ts";
import { addWebhook } from "../../../src/services/webhooks.ts";
import { selectSite } from "../../../src/store/directory/sites.ts";
import { countEvents, selectUncounted } from "../../../src/store/home/count-events.ts";
import { STATEMENTS_PER_BATCH } from "../../../src/store/home/old-sessions.ts";
import { closing } from "../../support/closing.ts";
import { HOMES, seedCustomer } from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { freePlan } from "../../support/settle.ts";
import {
  DAY,
  deleteSite,
  endSite,
  nameOf,
  patchSite,
  pruneAll,
  pruneAt,
  readSite,
  tablesLeft,
} from "../../support/site-end.ts";
import { NOW, World } from "../../support/world.ts";

/** What a fault leaves of the end of a site, and of a retention. */

/** A database that loses the answer of its n-th batch: what it was asked for is done, or not. */
function losing(db: D1Database, n: number, isDone: boolean): D1Database {
  let batches = 0;
  const batch = async <T>(statements: D1PreparedStatement[]) => {
    batches++;
    if (batches !== n) return db.batch<T>(statements);
    if (isDone) await db.batch<T>(statements);
    // Not one of the errors that are worth another try.
    throw new Error("D1_ERROR: D1 DB is overloaded.");
  };
  return replacing(db, { batch });
}

describe.each(HOMES)("a site in %s whose deletion meets a fault", (home) => {
  const binding = home === "main" ? "DB" : "HOME_APAC";

  it.each([1, 2, 3, 4].flatMap((n) => [true, false].map((isDone) => [n, isDone] as const)))(
    "in batch %d, done: %s, is whole or gone, and gone when the call is sent again",
    async (n, isDone) => {
      const world = await World.create({}, home);
      await world.chatId();
      const name = await nameOf(world);
      await patchSite(world, { status: "closed" });
      const { sessions, messages } = await world.stored();
      const faulty = world.anotherIsolate({ [binding]: losing(databaseOf(home), n, isDone) });
      const { status } = await deleteSite(faulty, name);
      expect([202, 503]).toContain(status);
      const { deletion } = (await readSite(world)) as { deletion: { done_at: number | null } | null };
      await pruneAt(NOW);
      // A 503 may have been done: then all is gone. Otherwise nothing is.
      const rows = await world.stored();
      if (rows.sessions.length > 0) expect(rows).toMatchObject({ sessions, messages });
      else expect(deletion).not.toBeNull();
      expect((await world.anotherIsolate().create()).status).not.toBe(200);
      if (deletion !== null) expect((await patchSite(world, { status: "open" })).status).toBeOneOf([404, 409]);
      const again = await deleteSite(world, name);
      expect(again.status).toBe(202);
      await pruneAll(NOW);
      expect(await tablesLeft(world)).toEqual([]);
      expect((await deleteSite(world, name)).body).toEqual(again.body);
    },
  );

  it("begins once for two operators at the same time", async () => {
    const world = await World.create({}, home);
    await world.chatId();
    const name = await nameOf(world);
    await patchSite(world, { status: "closed" });
    const answers = await Promise.all([1, 2, 3].map(() => deleteSite(world.anotherIsolate(), name)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    const { audit } = await world.operated();
    expect(audit.filter(({ action }) => action === "site.deletion_begun")).toHaveLength(1);
    await pruneAll(NOW);
    expect(await tablesLeft(world)).toEqual([]);
  });

  it("waits while its home or the directory is closed", async () => {
    const world = await World.create({}, home);
    const name = await nameOf(world);
    await patchSite(world, { status: "closed" });
    for (const closed of new Set([home, "main"])) {
      const shut = world.anotherIsolate(closing(closed));
      expect((await deleteSite(shut, name)).status).toBe(503);
      expect(await readSite(world)).toMatchObject({ status: "closed", deletion: null });
    }
  });

  it("ends although two crons are at it at once, without a fault of either", async () => {
    const world = await World.create({}, home);
    await seedCustomer(world, "one of many", 450);
    await endSite(world);
    const homes = new Map([
      ["main", env.DB],
      ["apac", env.HOME_APAC],
    ]);
    let isFirst = true;
    // Another run removes the first sessions after this one has found them.
    const batch = async <T>(statements: D1PreparedStatement[]) => {
      if (statements.length === STATEMENTS_PER_BATCH && isFirst) {
        isFirst = false;
        await databaseOf(home).batch(statements);
      }
      return databaseOf(home).batch<T>(statements);
    };
    homes.set(home, replacing(databaseOf(home), { batch }));
    expect((await pruneAt(NOW, {}, homes)).faults).toEqual({});
    expect((await world.stored()).sessions).toHaveLength(250);
    await pruneAll(NOW);
    expect(await tablesLeft(world)).toEqual([]);
  });

  it("keeps its row while another run, which was slow, has counted its events again", async () => {
    const world = await World.create({}, home);
    await patchSite(world, { events: true });
    await world.chatId();
    await endSite(world);
    const db = databaseOf(home);
    const slow = (await selectUncounted(db, 0, 1_000)).filter(({ siteId }) => siteId === world.siteId);
    expect(slow).toHaveLength(1);
    const homes = new Map([
      ["main", env.DB],
      ["apac", env.HOME_APAC],
    ]);
    let isLate = false;
    // The last batch of a home for a site: by then its events are gone, and this run has found nothing left.
    const batch = async <T>(statements: D1PreparedStatement[]) => {
      if (!isLate && (await tablesLeft(world)).join() === `${home}.home_sites`) {
        isLate = true;
        await drizzle(db).batch(countEvents(db, slow));
      }
      return db.batch<T>(statements);
    };
    homes.set(home, replacing(db, { batch }));
    expect((await pruneAt(NOW, {}, homes)).faults).toEqual({});
    expect(isLate).toBe(true);
    expect(await tablesLeft(world)).toEqual([`${home}.counted_events`, `${home}.home_sites`]);
    expect((await readSite(world)).status).toBe("deleting");
    await pruneAll(NOW);
    expect(await tablesLeft(world)).toEqual([]);
    expect((await readSite(world)).status).toBe("deleted");
  });

  it("ends although the cron loses the answer of any batch", async () => {
    for (let n = 1; n <= 6; n++) {
      const world = await World.create({}, home);
      await world.chatId();
      const name = await nameOf(world);
      await patchSite(world, { status: "closed" });
      await deleteSite(world, name);
      const homes = new Map([
        ["main", env.DB],
        ["apac", env.HOME_APAC],
      ]);
      homes.set(home, losing(databaseOf(home), n, true));
      await pruneAt(NOW, {}, homes);
      await pruneAll(NOW);
      expect(await tablesLeft(world)).toEqual([]);
      expect((await readSite(world)).status).toBe("deleted");
    }
  });
});

describe("a deletion of a site in apac that its home does not know to be kept", () => {
  it("is carried out by the cron of apac alone, and not by that of main, whose database has the directory", async () => {
    const world = await World.create({}, "apac");
    await world.chatId();
    const name = await nameOf(world);
    await patchSite(world, { status: "closed" });
    // The third batch in apac takes its apps and webhooks away.
    let status = 202;
    for (let n = 1; status === 202; n++) {
      const faulty = world.anotherIsolate({ HOME_APAC: losing(env.HOME_APAC, n, false) });
      ({ status } = await deleteSite(faulty, name));
      if (n > 8) break;
    }
    await pruneAt(NOW, {}, new Map([["main", env.DB]]));
    expect((await world.stored()).sessions).toHaveLength(1);
    expect((await readSite(world)).status).not.toBe("deleted");
    await deleteSite(world, name);
    await pruneAt(NOW, {}, new Map([["main", env.DB]]));
    expect(await readSite(world)).toMatchObject({ status: "deleting", deletion: { done_at: null } });
    await pruneAll(NOW);
    expect(await tablesLeft(world)).toEqual([]);
  });

  it("goes on by the cron once the directory has it", async () => {
    for (const home of HOMES) {
      const world = await World.create({}, home);
      await world.chatId();
      const id = crypto.randomUUID();
      await patchSite(world, { status: "closed" });
      const row = "INSERT INTO site_deletions VALUES (?, ?, ?, ?, NULL, NULL)";
      await databaseOf(home).prepare(row).bind(world.siteId, id, home, NOW).run();
      await pruneAt(NOW);
      expect((await world.stored()).sessions).toHaveLength(1);
      await env.DB.prepare("UPDATE sites SET status = 'deleting' WHERE id = ?").bind(world.siteId).run();
      await pruneAll(NOW);
      expect(await tablesLeft(world)).toEqual([]);
    }
  });
});

describe("after the deletion of a site has begun", () => {
  it("another name is refused, until nothing is left", async () => {
    const world = await World.create();
    const name = await nameOf(world);
    await patchSite(world, { status: "closed" });
    expect((await deleteSite(world, name)).status).toBe(202);
    expect((await deleteSite(world, "Other")).status).toBe(400);
  });

  it("an app or a webhook that was asked for before comes to nothing", async () => {
    for (const home of HOMES) {
      const world = await World.create({}, home);
      const site = await selectSite(env.DB, world.siteId);
      const name = await nameOf(world);
      await patchSite(world, { status: "closed" });
      await deleteSite(world, name);
      if (site === undefined) throw new Error("the site is not in the directory");
      const ctx = contextAt(NOW);
      await expect(issueApp(ctx, { site, name: "Late" })).rejects.toMatchObject({ code: "not_found" });
      await expect(addWebhook(ctx, { site, url: "https://hooks.example.com/" })).rejects.toMatchObject({
        code: "not_found",
      });
      await pruneAll(NOW);
      expect(await tablesLeft(world)).toEqual([]);
    }
  });
});

describe("on Workers Free, which allows 50 queries in an invocation", () => {
  it("a site ends and old sessions go over several runs", async () => {
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
      const { DB, HOME_APAC } = freePlan({ DB: env.DB, HOME_APAC: env.HOME_APAC });
      const homes = new Map([
        ["main", DB],
        ["apac", HOME_APAC],
      ]);
      await pruneAt(NOW, {}, homes).catch(() => {});
    }
    expect([await tablesLeft(ended), (await old.stored()).sessions]).toEqual([[], []]);
    expect((await readSite(ended)).status).toBe("deleted");
    expect(runs).toBeGreaterThan(1);
  });
});
