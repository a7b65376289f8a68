import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { type AuditLogEntry, listAuditLog } from "../../../src/operators/services/audit.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, type ReplacedBindings, World } from "../../support/world.ts";

const HOMES = ["main", "apac"];

// The tests read the audit log of the whole deployment, so this file has storage of its own.
beforeEach(async () => {
  for (const home of HOMES) await databaseOf(home).exec("DELETE FROM audit_log");
});

/** Writes entries with ids from 1 up into a home, at the given seconds after NOW. */
async function put(home: string, seconds: number[], siteId: number | null = null): Promise<void> {
  const db = databaseOf(home);
  const insert = db.prepare(
    "INSERT INTO audit_log (site_id, at, actor, action, subject, details) VALUES (?, ?, 'console', 'agent.added', 's', '{\"name\":\"N\"}')",
  );
  await db.batch(seconds.map((at) => insert.bind(siteId, NOW + at)));
}

/** All pages, each read with the cursor of the page before. */
async function walk(limit: number, input: { siteId?: number } = {}, bindings: ReplacedBindings[] = []) {
  const items: AuditLogEntry[] = [];
  const cursors: (string | null)[] = [];
  const down: string[][] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 100; page++) {
    const log = await listAuditLog(contextAt(NOW, bindings[page]), { limit, cursor, ...input });
    expect(log.items.length).toBeLessThanOrEqual(limit);
    items.push(...log.items);
    cursors.push(log.nextCursor);
    down.push(log.homesDown);
    if (log.nextCursor === null) return { items, cursors, down };
    cursor = log.nextCursor;
  }
  throw new Error("the pages have no end");
}

const idsOf = (items: AuditLogEntry[]) => items.map(({ home, id }) => `${home}:${id}`);

describe("the audit log of all homes", () => {
  it.each([1, 2, 3, 4, 6, 7])(
    "the audit log of all homes comes newest first, with each entry once, in pages of %d",
    async (limit) => {
      await put("main", [1, 3, 5, 7]);
      await put("apac", [2, 4]);
      const { items, cursors } = await walk(limit);
      expect(idsOf(items)).toEqual(["main:4", "main:3", "apac:2", "main:2", "apac:1", "main:1"]);
      expect(items[0]).toEqual({
        id: 4,
        home: "main",
        siteId: null,
        at: NOW + 7,
        actor: "console",
        action: "agent.added",
        subject: "s",
        requestId: null,
        details: { name: "N" },
        who: null,
        address: null,
      });
      expect(cursors).toHaveLength(Math.ceil(6 / limit));
    },
  );

  it.each([1, 2, 3, 5])(
    "the audit log misses no entry when clocks differ or go back, in pages of %d",
    async (limit) => {
      await put("main", [9, 1, 8, 2, 2]);
      await put("apac", [5, 5, 100, 3, 0]);
      const { items } = await walk(limit);
      const ids = idsOf(items);
      expect(new Set(ids).size).toBe(ids.length);
      for (const home of HOMES) {
        const own = ids.filter((id) => id.startsWith(home));
        expect(own).toEqual([5, 4, 3, 2, 1].map((id) => `${home}:${id}`));
      }
    },
  );

  it("the cursor of the audit log holds the place in each home, and 0 for a home that is finished", async () => {
    await put("main", [1, 2, 3]);
    await put("apac", [2]);
    const { cursors } = await walk(1);
    expect(cursors[0]).toBe("main:3");
    expect([...(cursors[2] ?? "").split(",")].sort()).toEqual(["apac:0", "main:2"]);
    expect(cursors.at(-1)).toBeNull();
  });

  it("the audit log goes on without a home that is down, names it, and shows its entries when it answers again", async () => {
    await put("main", [1, 2, 3]);
    await put("apac", [2, 4]);
    const down = { HOME_APAC: downDb(env.HOME_APAC) };
    const first = await walk(2, {}, [down, down]);
    expect(idsOf(first.items)).toEqual(["main:3", "main:2", "main:1"]);
    expect(first.down).toEqual([["apac"], ["apac"]]);
    const later = await walk(2, {}, [down]);
    expect(idsOf(later.items).sort()).toEqual(["apac:1", "apac:2", "main:1", "main:2", "main:3"]);
    expect(later.down[0]).toEqual(["apac"]);
    expect(later.down.slice(1).flat()).toEqual([]);
  });

  it("an empty audit log has no entries, no cursor and no home that is down", async () => {
    expect(await walk(5)).toEqual({ items: [], cursors: [null], down: [[]] });
  });

  it.each([
    "1",
    "main",
    "main:",
    "main:x",
    "main:1,",
    "Main:1",
    ":1",
    "main:-1",
    "main:1;apac:1",
    "main:1234567890123456",
  ])("the audit log refuses a malformed cursor: %j", async (cursor) => {
    const list = listAuditLog(contextAt(NOW), { limit: 5, cursor });
    await expect(list).rejects.toMatchObject({
      code: "invalid_input",
      context: { issues: [{ field: "cursor", message: "is not a next_cursor" }] },
    });
  });

  it("the audit log accepts a cursor that names a home which no longer exists", async () => {
    await put("main", [1]);
    const { items } = await listAuditLog(contextAt(NOW), { limit: 5, cursor: "eu:3" });
    expect(idsOf(items)).toEqual(["main:1"]);
  });
});

describe("a filtered page of a long audit log", () => {
  /** Writes `amount` entries into a home, one a second up to NOW. Every 4,000th from the newest is about `wanted`. */
  const putMany = (home: string, amount: number, siteId: number | null = null) =>
    databaseOf(home)
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO audit_log (site_id, at, actor, action, subject, details)
         SELECT ?2, ?3 - ?1 + i, 'console', 'agent.renamed', iif((?1 - i) % 4000 = 3999, 'wanted', 's'), '{}' FROM n`,
      )
      .bind(amount, siteId, NOW)
      .run();

  /** The rows that D1 read for each page, and the entries of each page. */
  async function pagesOf(input: Partial<Parameters<typeof listAuditLog>[1]>, more: ReplacedBindings = {}) {
    const pages: { ids: string[]; searchedTo: number | null; read: number }[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      let read = 0;
      const counting = (db: D1Database) =>
        replacing(db, {
          batch: async (statements: D1PreparedStatement[]) => {
            const results = await db.batch(statements);
            for (const { meta } of results) read += meta.rows_read;
            return results;
          },
        });
      const ctx = contextAt(NOW, { DB: counting(env.DB), HOME_APAC: counting(env.HOME_APAC), ...more });
      const page = await listAuditLog(ctx, { limit: 5, cursor, ...input });
      pages.push({ ids: idsOf(page.items), searchedTo: page.searchedTo, read });
      cursor = page.nextCursor;
    }
    return pages;
  }

  it("a filtered page of the audit log reads at most 10,000 rows in all homes together, and says how far it looked", async () => {
    await putMany("main", 12_000);
    await putMany("apac", 4_500);
    const pages = await pagesOf({ subject: "wanted", until: NOW });
    for (const { read } of pages) expect(read).toBeLessThanOrEqual(10_000);
    expect(pages[0]).toMatchObject({ ids: [], searchedTo: NOW - 2_467 });
    expect(pages.flatMap(({ ids }) => ids)).toEqual(["apac:501", "main:8001", "main:4001", "main:1"]);
    const times = pages.map(({ searchedTo }) => searchedTo);
    expect(times.pop()).toBeNull();
    expect(times).toEqual(times.toSorted((a, b) => Number(b) - Number(a)));
  });

  it("a filtered page of one site's audit log reads at most 10,000 rows of that site, and none of others", async () => {
    const { siteId } = await World.create();
    await putMany("main", 5_500, siteId);
    await putMany("main", 20_000);
    const pages = await pagesOf({ siteId, who: "nobody" });
    expect(pages.map(({ ids }) => ids)).toEqual([[], []]);
    for (const { read } of pages) expect(read).toBeLessThanOrEqual(10_000);
    expect((await pagesOf({ siteId, subject: "wanted" })).flatMap(({ ids }) => ids)).toHaveLength(1);
  });

  it("a filtered read of the audit log ends where all older entries are older than `since`", async () => {
    await putMany("main", 6_000);
    await env.DB.prepare("UPDATE audit_log SET at = at - 90000 WHERE id <= 5000").run();
    expect(await pagesOf({ since: NOW - 500, subject: "wanted" })).toMatchObject([{ ids: [], searchedTo: null }]);
  });

  it("a filtered read of the audit log begins near `until`, and misses no entry that is a day late", async () => {
    await putMany("main", 20_000);
    // The entries are now 100 s apart, so a day has 864 of them.
    await env.DB.prepare("UPDATE audit_log SET at = at - 99 * (20000 - id)").run();
    const until = NOW - 1_999_900;
    await env.DB.prepare("UPDATE audit_log SET at = ? WHERE id = 865").bind(until).run();
    for (const condition of ["0", "id BETWEEN 3 AND 864", "id BETWEEN 866 AND 19999"]) {
      await env.DB.exec(`DELETE FROM audit_log WHERE ${condition}`);
      const [page, next] = await pagesOf({ until });
      expect([page?.ids, next]).toEqual([["main:865", "main:1"], undefined]);
      expect(page?.read).toBeLessThanOrEqual(1_800);
    }
    expect(await pagesOf({ until: until - 90_000 })).toMatchObject([{ ids: [], searchedTo: null }]);
  });

  it("the audit log does not ask a home again that was read to the end, and gives its share of rows to the others", async () => {
    await putMany("main", 5_000);
    await put("apac", [1]);
    let queryCount = 0;
    const batch = (statements: D1PreparedStatement[]) => {
      queryCount++;
      return env.HOME_APAC.batch(statements);
    };
    const others = Array.from({ length: 99 }, (_, i) => [`HOME_H${i}`, replacing(env.HOME_APAC, { batch })]);
    const pages = await pagesOf({ who: "nobody" }, Object.fromEntries(others));
    expect([pages.length, queryCount]).toEqual([2, others.length]);
    for (const { read } of pages) expect(read).toBeLessThanOrEqual(10_000);
  });

  it("the audit log without a filter reads only the listed rows and one more", async () => {
    await putMany("main", 6_000);
    const page = await listAuditLog(contextAt(NOW), { limit: 5 });
    expect(page).toMatchObject({ nextCursor: "main:5996,apac:0", searchedTo: NOW - 4 });
    const [{ read } = { read: 0 }] = await pagesOf({ cursor: "main:6" });
    expect(read).toBeLessThanOrEqual(6);
  });
});

describe("the audit log of a site", () => {
  it("the audit log of a site has the entries of its home and those of the directory", async () => {
    const [world, other] = [await World.create({}, "apac"), await World.create({}, "apac")];
    for (const home of HOMES) await databaseOf(home).exec("DELETE FROM audit_log");
    await put("apac", [1, 3], world.siteId);
    await put("apac", [2], other.siteId);
    await put("main", [1, 2], world.siteId);
    const itself = { siteId: world.siteId };
    // At the same second the directory's entries come first, so they are listed last.
    expect(idsOf((await walk(1, itself)).items)).toEqual(["apac:2", "main:2", "apac:1", "main:1"]);
    expect(idsOf((await walk(5, { siteId: other.siteId })).items)).toEqual(["apac:3"]);
    const prepare = (sql: string) => (sql.includes("audit_log") ? downDb(env.DB) : env.DB).prepare(sql);
    const DB = replacing(env.DB, { prepare });
    const { items, down } = await walk(1, itself, [{ DB }, { DB }]);
    expect([idsOf(items), down]).toEqual([
      ["apac:2", "apac:1"],
      [["main"], ["main"]],
    ]);
  });

  it("the audit log of a site asks only the home of the site and the directory", async () => {
    const world = await World.create({}, "main");
    const log = await listAuditLog(contextAt(NOW, { HOME_APAC: downDb(env.HOME_APAC) }), {
      siteId: world.siteId,
      limit: 5,
    });
    expect(log.homesDown).toEqual([]);
    expect(log.items.map(({ action }) => action).sort()).toEqual([
      "app.issued",
      "app.routed",
      "site.begun",
      "site.created",
    ]);
  });

  it("the audit log of an unknown site is 404", async () => {
    const list = listAuditLog(contextAt(NOW), { siteId: 999_999, limit: 5 });
    await expect(list).rejects.toMatchObject({ code: "not_found" });
  });
});
