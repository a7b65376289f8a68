import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import numbers from "../../../../docs/numbers.json";
import type { Bindings } from "../../../../src/core/config.ts";
import { type Runtime, systemRuntime } from "../../../../src/core/runtime.ts";
import worker from "../../../../src/index.ts";
import { type PruneLimits, prune } from "../../../../src/operators/store/pruning/prune.ts";
import { CALL_RULES } from "../../../../src/operators/usage/call-rules.ts";
import { recordsOf } from "../../../support/console-telemetry.ts";
import { downDb } from "../../../support/down-db.ts";
import { replacing } from "../../../support/replacing.ts";
import { NOW, World } from "../../../support/world.ts";

const LIVE = NOW + 1;

/** A small number, so that a few rows make many chunks. */
const CHUNK_ROWS = 10;
const LIMITS = { chunkRows: CHUNK_ROWS, statements: 900 };

/** Retries follow each other at once. */
const runtime: Runtime = {
  ...systemRuntime,
  after: (milliseconds, callback) => systemRuntime.after(milliseconds <= 100 ? 0 : milliseconds, callback),
};

const TABLES = [
  "nonces",
  "idempotency_keys",
  "console_sessions",
  "console_forms",
  "admin_tokens",
  "people",
  "erasure_receipts",
  "jobs",
] as const;

const sql = (text: string, ...values: (string | number)[]) => env.DB.prepare(text).bind(...values);

// This file has storage of its own, and each test clears it, so that no test prunes rows of another one.
beforeEach(async () => {
  for (const db of [env.DB, env.HOME_APAC]) {
    await db.batch(TABLES.map((table) => db.prepare(`DELETE FROM ${table}`)));
  }
});
afterEach(() => void vi.restoreAllMocks());

/** Without the tables of the console, which only main uses. */
const NONE_APAC = {
  nonces: 0,
  idempotency_keys: 0,
  events: 0,
  deliveries: 0,
  refusals: 0,
  sessions: 0,
  deleted_sites: 0,
  audit_log: 0,
  usage: 0,
};
const NONE = {
  ...NONE_APAC,
  console_sessions: 0,
  console_forms: 0,
  admin_tokens: 0,
  people: 0,
  erasure_receipts: 0,
  freed_appids: 0,
};

/** A deployment with the home main, and with apac if given. */
const deployment = (main = env.DB, apac?: D1Database, ...closed: string[]) => ({
  directory: main,
  homes: new Map([["main", main], ...(apac === undefined ? [] : [["apac", apac] as const])]),
  closedHomes: new Set(closed),
  eventRetentionDays: 30,
  journalDays: 30,
  auditDays: 730,
  sessionEventTypes: [],
  callRules: CALL_RULES,
});

/** The number of rows that one run removes in main. Expects no fault. */
async function runOnce(now = NOW, limits: Partial<PruneLimits> = {}, db = env.DB): Promise<typeof NONE> {
  const { removed, faults } = await prune(runtime, deployment(db), now, { ...LIMITS, ...limits });
  expect([faults, Object.keys(removed)]).toEqual([{}, ["main"]]);
  return removed.main as typeof NONE;
}

async function putNonces(...list: [appid: string, ranstr: string, expiresAt: number][]): Promise<void> {
  await env.DB.batch(
    list.map((row) =>
      sql(
        "INSERT INTO nonces (site_id, appid, ranstr, owner, attempt, expires_at, outcome, session_id) VALUES (1, ?, ?, 'owner', 1, ?, 'accepted', 1)",
        ...row,
      ),
    ),
  );
}

async function putKeys(...list: [appid: string, operation: string, key: string, expiresAt: number][]): Promise<void> {
  await env.DB.batch(
    list.map((row) => sql("INSERT INTO idempotency_keys VALUES (1, ?, ?, ?, 'fingerprint', 1, ?)", ...row)),
  );
}

const putSession = (id: string, expiresAt: number) =>
  sql("INSERT INTO console_sessions (id, created_at, expires_at) VALUES (?, 0, ?)", id, expiresAt).run();
const putForm = (id: string, expiresAt: number) =>
  sql("INSERT INTO console_forms VALUES (?, 'session', NULL, ?)", id, expiresAt).run();

/** Writes nonces of one appid with ranstr 1 to count, in seven digits. Every `liveEvery`-th is live. */
async function putManyNonces(appid: string, count: number, liveEvery: number): Promise<void> {
  await sql(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO nonces (site_id, appid, ranstr, owner, attempt, expires_at, outcome, session_id)
     SELECT 1, ?, printf('%07d', i), 'owner', 1, CASE i % ? WHEN 0 THEN ? ELSE ? END, 'accepted', 1 FROM n`,
    count,
    appid,
    liveEvery,
    LIVE,
    NOW,
  ).run();
}

async function rowsOf(table: (typeof TABLES)[number]): Promise<Record<string, unknown>[]> {
  return (await sql(`SELECT * FROM ${table} ORDER BY ${table === "jobs" ? "1" : "1, 2, 3"}`).all()).results;
}

/** The stored places in the tables, without the home where the next run begins. */
const places = async () => (await rowsOf("jobs")).filter(({ name }) => name !== "prune");

async function countLeft(): Promise<number | null> {
  return sql("SELECT count(*) AS rows FROM nonces").first<number>("rows");
}

interface Cost {
  statements: number;
  rowsRead: number;
  rowsWritten: number;
}

/** A database that counts each statement, alone or in a batch, and fails those with a given text. `before` may fail others by their number. */
function watch(
  failing?: { naming: RegExp; times: number; error: string },
  real = env.DB,
  before: (statements: number) => void = () => {},
): { db: D1Database; cost: Cost } {
  const cost: Cost = { statements: 0, rowsRead: 0, rowsWritten: 0 };
  const texts = new WeakMap<object, string>();
  const send = async (statements: D1PreparedStatement[]) => {
    cost.statements += statements.length;
    before(statements.length);
    const named = statements.some((each) => failing?.naming.test(texts.get(each) ?? ""));
    if (failing !== undefined && named && failing.times-- > 0) throw new Error(failing.error);
    const results = await real.batch<Record<string, unknown>>(statements);
    for (const { meta } of results) {
      cost.rowsRead += meta.rows_read;
      cost.rowsWritten += meta.rows_written;
    }
    return results;
  };
  const prepare = (text: string) => ({
    bind: (...values: unknown[]) => {
      const bound = real.prepare(text).bind(...values);
      texts.set(bound, text);
      return Object.assign(bound, {
        raw: async () => (await send([bound])).flatMap(({ results }) => results.map((row) => Object.values(row))),
        run: async () => (await send([bound]))[0],
        first: async () => (await send([bound]))[0]?.results[0] ?? null,
        all: async () => (await send([bound]))[0],
      });
    },
  });
  return { db: replacing(real, { prepare, batch: send }), cost };
}

describe("the pruner", () => {
  it("the pruner removes nonces, keys, console sessions and forms in the second of their expiry, and keeps live ones", async () => {
    await putNonces(["a", "long gone", 1], ["a", "expires now", NOW], ["a", "live", LIVE], ["b", "gone", NOW - 1]);
    await putKeys(
      ["a", "add_agents", "k", NOW],
      ["a", "create_session", "k", LIVE],
      ["b", "add_agents", "k", LIVE],
      ["b", "create_session", "k", NOW - 1],
    );
    await Promise.all([putSession("gone", NOW), putSession("live", LIVE), putForm("gone", NOW), putForm("live", LIVE)]);
    expect(await runOnce()).toEqual({ ...NONE, nonces: 3, idempotency_keys: 2, console_sessions: 1, console_forms: 1 });
    expect(await rowsOf("nonces")).toMatchObject([{ appid: "a", ranstr: "live" }]);
    expect(await rowsOf("idempotency_keys")).toMatchObject([
      { appid: "a", operation: "create_session" },
      { appid: "b", operation: "add_agents" },
    ]);
    expect(await rowsOf("console_sessions")).toMatchObject([{ id: "live" }]);
    expect(await rowsOf("console_forms")).toMatchObject([{ id: "live" }]);
  });

  it("the pruner removes an ended console session after a day, and not before its assertion expires", async () => {
    const day = 86_400;
    const put = (id: string, expiresAt: number, endedAt: number) =>
      sql(
        "INSERT INTO console_sessions (id, created_at, expires_at, ended_at) VALUES (?, 0, ?, ?)",
        id,
        expiresAt,
        endedAt,
      );
    const inserts = [put("cookie", 0, NOW - day), put("person", NOW, NOW - day)];
    await env.DB.batch([...inserts, put("new", 0, NOW - day + 1), put("signed on", NOW + 1, NOW - day)]);
    expect(await runOnce()).toEqual({ ...NONE, console_sessions: 2 });
    expect((await rowsOf("console_sessions")).map(({ id }) => id).sort()).toEqual(["new", "signed on"]);
  });

  it("the pruner removes a token a day after it was deleted, and no other token, even expired", async () => {
    const day = 86_400;
    const put = (id: string, expiresAt: number | null, deletedAt: number | null) =>
      env.DB.prepare("INSERT INTO admin_tokens VALUES (?, ?, 'T', 'viewer', NULL, 0, ?, NULL, ?)")
        .bind(id, id, expiresAt, deletedAt)
        .run();
    await Promise.all([
      put("gone", null, NOW - day),
      put("late", null, NOW - day + 1),
      put("old", 1, null),
      put("in use", null, null),
    ]);
    expect(await runOnce()).toEqual({ ...NONE, admin_tokens: 1 });
    expect((await rowsOf("admin_tokens")).map(({ id }) => id)).toEqual(["in use", "late", "old"]);
  });

  it("the pruner removes a person a day after their access was ended, and nobody else, even expired", async () => {
    const day = 86_400;
    const put = (id: string, expiresAt: number | null, deletedAt: number | null) =>
      env.DB.prepare("INSERT INTO people VALUES (?, NULL, 'Mei', ?, 'viewer', NULL, 0, ?, NULL, ?)").bind(
        id,
        id,
        expiresAt,
        deletedAt,
      );
    await env.DB.batch([
      put("gone", null, NOW - day),
      put("late", null, NOW - day + 1),
      put("old", 1, null),
      put("in use", null, null),
    ]);
    expect(await runOnce()).toEqual({ ...NONE, people: 1 });
    expect((await rowsOf("people")).map(({ id }) => id)).toEqual(["in use", "late", "old"]);
  });

  it("the pruner removes the receipts of erasures after 31 days, one more than Time Travel reaches back", async () => {
    for (const [id, at] of [
      ["older", NOW - 31 * 86_400],
      ["newer", NOW - 31 * 86_400 + 1],
    ] as const) {
      await sql("INSERT INTO erasure_receipts VALUES ('apac', 1, ?, ?, 1, ?, 'hash', 1, '[1]')", id, at, at).run();
    }
    expect(await runOnce()).toEqual({ ...NONE, erasure_receipts: 1 });
    expect(await rowsOf("erasure_receipts")).toMatchObject([{ erasure_id: "newer" }]);
  });

  it("the pruner writes nothing when all tables are empty", async () => {
    expect(await runOnce()).toEqual(NONE);
    expect(await rowsOf("jobs")).toEqual([]);
  });

  it.each([CHUNK_ROWS - 1, CHUNK_ROWS, 3 * CHUNK_ROWS + 1])(
    "the pruner removes %d expired rows among live ones, chunk by chunk",
    async (count) => {
      // Every second row is live, so that chunks do not end where the tables end.
      await putManyNonces("a", 2 * count, 2);
      expect(await runOnce()).toEqual({ ...NONE, nonces: count });
      const rows = await rowsOf("nonces");
      expect(rows).toHaveLength(count);
      expect(rows.every((row) => row.expires_at === LIVE)).toBe(true);
    },
  );

  it("the pruner removes nonces of several apps", async () => {
    for (const appid of ["a", "b", "c"]) await putManyNonces(appid, CHUNK_ROWS, 5);
    expect((await runOnce()).nonces).toBe(3 * CHUNK_ROWS * 0.8);
    expect(await countLeft()).toBe(3 * CHUNK_ROWS * 0.2);
  });

  it("the pruner removes idempotency keys of both operations", async () => {
    const key = (_: unknown, i: number): [string, string, string, number] => [
      "a",
      i % 2 === 0 ? "add_agents" : "create_session",
      `key ${i}`,
      i < 5 ? LIVE : NOW,
    ];
    await putKeys(...Array.from({ length: 2 * CHUNK_ROWS + 5 }, key));
    expect((await runOnce()).idempotency_keys).toBe(2 * CHUNK_ROWS);
    expect(await rowsOf("idempotency_keys")).toHaveLength(5);
  });

  it("the pruner goes on after texts with NUL, astral and other odd characters, and removes no live row beside them", async () => {
    const odd = ["\0", "a\0", "a\0b", "a\0c", "\u{10ffff}", "😀\0😀", "\uffff", "漢字", "é", "é", "'; --", "%"];
    const rows = odd.flatMap((text, i): [string, string, number][] => {
      const appid = String(i).padStart(2, "0");
      return [
        [appid, text, NOW],
        [appid, `${text}\0`, LIVE],
      ];
    });
    await putNonces(["", "first", LIVE], ...rows);
    // Each chunk ends in an odd text. The runs are small, so that these texts are also stored as places and read again.
    let removed = 0;
    for (let run = 0; run < 60 && removed < odd.length; run++) {
      removed += (await runOnce(NOW, { chunkRows: 2, statements: 80 })).nonces;
    }
    expect(removed).toBe(odd.length);
    expect((await rowsOf("nonces")).map((row) => row.ranstr)).toEqual(["first", ...odd.map((text) => `${text}\0`)]);
  });

  it("the pruner reads each row a fixed number of times, however many chunks there are", async () => {
    const [others, { db, cost }] = [watch(), watch()];
    const [chunks, chunkRows] = [10, 50];
    // Other tables may have rows of other tests.
    await runOnce(NOW, { chunkRows }, others.db);
    await putManyNonces("a", chunks * chunkRows, 2);
    await runOnce(NOW, { chunkRows }, db);
    const rowsRead = cost.rowsRead - others.cost.rowsRead;
    // A row is read once to find a chunk's end, once by each of three statements that count, once to check its expiry, and once
    // when it is removed.
    expect(rowsRead).toBeLessThanOrEqual(6 * chunks * chunkRows + 100);
    expect(rowsRead).toBeGreaterThanOrEqual(chunks * chunkRows);
  });

  it("counting nonces writes at most a tenth of a row for each removed nonce", async () => {
    const { db, cost } = watch();
    const count = 2_000;
    await putManyNonces("a", count, count + 1);
    expect((await runOnce(NOW, { chunkRows: 10_000 }, db)).nonces).toBe(count);
    expect(cost.rowsWritten).toBeGreaterThan(count);
    expect(cost.rowsWritten).toBeLessThanOrEqual(1.1 * count);
    expect(numbers.results["rows.pruned"].value).toBe(Math.round(cost.rowsWritten / count));
  });
});

describe("a limited run of the pruner", () => {
  const few = { statements: 60 };

  it("a limited run of the pruner starts again at the beginning, and reaches rows that expired before its place", async () => {
    await putManyNonces("b live", 10 * CHUNK_ROWS, 1);
    await runOnce(NOW, few);
    const [place] = await places();
    expect(place).toEqual({
      name: "prune nonces",
      place: expect.stringMatching(/^\[1,"b live","\d{7}",1800000000\]$/),
    });
    await putNonces(["a", "gone", NOW]);
    let runs = 0;
    for (let removed = 0; removed === 0 && runs < 20; runs++) removed = (await runOnce(NOW, few)).nonces;
    expect(runs).toBeLessThan(20);
  });

  it("a run of the pruner that can read a whole table reads it once, wherever the previous run stopped", async () => {
    await putManyNonces("b live", 10 * CHUNK_ROWS, 1);
    await runOnce(NOW, few);
    await putNonces(["a", "gone", NOW], ["c", "gone", NOW]);
    const { db, cost } = watch();
    expect(await runOnce(NOW, {}, db)).toEqual({ ...NONE, nonces: 2 });
    expect(await places()).toMatchObject([{ place: '[0,"",""]' }]);
    expect(cost.rowsRead).toBeLessThan(6 * 10 * CHUNK_ROWS);
  });

  it.each([48, 60, 120])("a run of the pruner sends no more than %d statements", async (statements) => {
    await putManyNonces("a", 40 * CHUNK_ROWS, 2);
    const { db, cost } = watch();
    await runOnce(NOW, { statements }, db);
    expect(cost.statements).toBeLessThanOrEqual(statements);
    expect(cost.statements).toBeGreaterThan(statements - 24);
  });

  it("the pruner counts failed tries as statements too", async () => {
    await putManyNonces("a", 40 * CHUNK_ROWS, 2);
    const { db, cost } = watch({ naming: /delete/, times: 2, error: "D1_ERROR: Network connection lost." });
    await runOnce(NOW, { statements: 100 }, db);
    expect(cost.statements).toBeLessThanOrEqual(100);
  });

  it("the pruner gives every table a share of its statements, and unused shares to the others", async () => {
    await putManyNonces("a", 40 * CHUNK_ROWS, 2);
    for (let i = 0; i < 3; i++) {
      await putKeys(["a", "add_agents", `k${i}`, NOW]);
      await putSession(`s${i}`, NOW);
      await putForm(`f${i}`, NOW);
    }
    const { nonces, ...others } = await runOnce(NOW, { statements: 200 });
    const all = { ...NONE, idempotency_keys: 3, console_sessions: 3, console_forms: 3 };
    expect({ nonces: 0, ...others }).toEqual(all);
    // A chunk takes six statements, and half of its rows are live.
    expect(nonces).toBeGreaterThan((200 / 6 / 2) * (CHUNK_ROWS / 2));
  });

  it("the pruner stores its place with each chunk, so that a run that is cut off loses nothing", async () => {
    await putManyNonces("a", 4 * CHUNK_ROWS, 2);
    const batch = vi.fn((statements: D1PreparedStatement[]) => {
      if (batch.mock.calls.length > 2) throw new Error("D1_ERROR: no more");
      return env.DB.batch(statements);
    });
    await prune(runtime, deployment(replacing(env.DB, { batch })), NOW, LIMITS);
    expect(await countLeft()).toBeLessThan(4 * CHUNK_ROWS);
    expect((await places())[0]).toMatchObject({ place: expect.stringMatching(/^\[1,"a","\d{7}",1800000000\]$/) });
  });

  it.each(["", "null", '[1,"a"]', '[1,"a",1]', '["1","a","b"]', '[1,"a","b","c"]'])(
    "the pruner starts at the beginning when the stored place is %j",
    async (place) => {
      await putNonces(["a", "gone", NOW], ["b", "live", LIVE]);
      await sql("INSERT INTO jobs VALUES ('prune nonces', ?)", place).run();
      expect((await runOnce()).nonces).toBe(1);
      expect(await places()).toEqual([{ name: "prune nonces", place: '[0,"",""]' }]);
    },
  );
});

describe("a run of the pruner over several homes", () => {
  it("the pruner takes at most 20 statements for a home with nothing to delete, so that 45 such homes fit into a run", async () => {
    const { db, cost } = watch(undefined, env.HOME_APAC);
    const { removed } = await prune(runtime, deployment(env.DB, db), NOW, LIMITS);
    expect(removed.apac).toEqual(NONE_APAC);
    expect(cost.statements).toBeLessThanOrEqual(900 / 45);
    expect(cost.statements).toBeGreaterThan(0);
  });

  const inApac = (text: string, ...values: (string | number)[]) => env.HOME_APAC.prepare(text).bind(...values);
  const putInApac = (count: number, expiresAt: number, siteId = 2) =>
    inApac(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO nonces (site_id, appid, ranstr, owner, attempt, expires_at, outcome, session_id)
       SELECT ?, 'b', printf('%07d', i), 'owner', 1, ?, 'accepted', 1 FROM n`,
      count,
      siteId,
      expiresAt,
    ).run();
  const leftInApac = () => inApac("SELECT count(*) AS n FROM nonces").first<number>("n");

  it("the pruner removes expired rows in every home and reports the number for each", async () => {
    await putNonces(["a", "gone", NOW], ["a", "live", LIVE]);
    await Promise.all([putInApac(3, NOW), putSession("gone", NOW)]);
    await inApac("INSERT INTO idempotency_keys VALUES (2, 'b', 'add_agents', 'k', 'f', 1, ?)", NOW).run();
    const { removed, faults } = await prune(runtime, deployment(env.DB, env.HOME_APAC), NOW, LIMITS);
    expect([removed, faults]).toEqual([
      { main: { ...NONE, nonces: 1, console_sessions: 1 }, apac: { ...NONE_APAC, nonces: 3, idempotency_keys: 1 } },
      {},
    ]);
    expect([await countLeft(), await leftInApac()]).toEqual([1, 0]);
  });

  it.each(["main", "apac"])("the pruner does not touch a closed home: %s", async (home) => {
    await putNonces(["a", "gone", NOW]);
    await putInApac(1, NOW);
    const settings = deployment(env.DB, env.HOME_APAC, home);
    const { removed, faults } = await prune(runtime, settings, NOW, LIMITS);
    expect([Object.keys(removed), faults]).toEqual([[home === "main" ? "apac" : "main"], {}]);
    expect([await countLeft(), await leftInApac()]).toEqual(home === "main" ? [1, 0] : [0, 1]);
  });

  it("the pruner sends a closed main no statement and begins with a random home", async () => {
    const main = vi.fn(() => {
      throw new Error("D1_ERROR: asked");
    });
    const closedDb = replacing(env.DB, { prepare: main, batch: main });
    const startsWith = async (random: number) => {
      const homes = ["b", "c", "d"].map((home) => ({ home, meter: watch(undefined, env.HOME_APAC) }));
      const settings = {
        ...deployment(closedDb, undefined, "main"),
        homes: new Map([["main", closedDb], ...homes.map(({ home, meter }) => [home, meter.db] as const)]),
      };
      // Enough statements for one chunk of the first home, and no more.
      const few = { chunkRows: CHUNK_ROWS, statements: 25 };
      const { faults } = await prune({ ...runtime, random: () => random }, settings, NOW, few);
      expect(faults).toEqual({});
      return homes.filter(({ meter }) => meter.cost.statements > 0).map(({ home }) => home);
    };
    expect([await startsWith(0), await startsWith(0.5), await startsWith(0.8)]).toEqual([["b"], ["c"], ["d"]]);
    expect(main).not.toHaveBeenCalled();
  });

  it("the pruner reports no fault when all homes are closed", async () => {
    const settings = deployment(env.DB, env.HOME_APAC, "main", "apac");
    expect(await prune(runtime, settings, NOW, LIMITS)).toEqual({ removed: {}, faults: {} });
  });

  it("the pruner goes on when a home fails, even the directory", async () => {
    await putNonces(["a", "gone", NOW]);
    await putInApac(1, NOW);
    const withoutApac = await prune(runtime, deployment(env.DB, downDb(env.HOME_APAC)), NOW, LIMITS);
    expect(withoutApac.removed).toMatchObject({ main: { nonces: 1 }, apac: NONE_APAC });
    const message = "D1_ERROR: D1 DB is overloaded.";
    const tables = Object.keys(NONE_APAC);
    const faults = Object.fromEntries(tables.map((table) => [table, message]));
    expect(withoutApac.faults).toEqual({ apac: faults });
    const withoutMain = await prune(runtime, deployment(downDb(env.DB), env.HOME_APAC), NOW, LIMITS);
    expect(withoutMain.removed).toMatchObject({ apac: { nonces: 1 } });
    // Of apac, only the copy to the directory is missing.
    expect([Object.keys(withoutMain.faults).sort(), withoutMain.faults.apac]).toEqual([
      ["apac", "main"],
      { usage: message },
    ]);
    expect([await countLeft(), await leftInApac()]).toEqual([0, 0]);
  });

  it("the pruner shares one budget of statements among the homes, and the next run starts where this one ended", async () => {
    await putManyNonces("a", 50 * CHUNK_ROWS, 1);
    await putInApac(50 * CHUNK_ROWS, LIVE);
    const [main, apac] = [watch(), watch(undefined, env.HOME_APAC)];
    const few = { chunkRows: CHUNK_ROWS, statements: 104 };
    const starts: string[] = [];
    for (let run = 0; run < 2; run++) {
      await prune(runtime, deployment(main.db, apac.db), NOW, few);
      starts.push(String(await sql("SELECT place FROM jobs WHERE name = 'prune'").first("place")));
    }
    const total = main.cost.statements + apac.cost.statements;
    expect(total).toBeLessThanOrEqual(2 * few.statements);
    expect(total).toBeGreaterThan(2 * (few.statements - 30));
    expect(apac.cost.statements).toBeGreaterThan(few.statements / 2);
    expect(main.cost.statements).toBeGreaterThan(few.statements / 2);
    expect(new Set(starts)).not.toContain("null");
    const [place] = starts.slice(-1);
    const isApac = place?.startsWith("apac.");
    const next = watch(undefined, isApac ? env.HOME_APAC : env.DB);
    const dbs = isApac ? [env.DB, next.db] : [next.db, env.HOME_APAC];
    await prune(runtime, deployment(...(dbs as [D1Database, D1Database])), NOW, { ...few, statements: 32 });
    expect(next.cost.statements).toBeGreaterThan(1);
  });

  it("small runs of the pruner reach the expired rows of each home behind live ones", async () => {
    await putManyNonces("a live", 5 * CHUNK_ROWS, 1);
    await putNonces(["b", "gone", NOW]);
    await putInApac(5 * CHUNK_ROWS, LIVE);
    await putInApac(1, NOW, 3);
    let runs = 0;
    for (; runs < 30 && ((await countLeft()) ?? 0) + ((await leftInApac()) ?? 0) > 10 * CHUNK_ROWS; runs++) {
      await prune(runtime, deployment(env.DB, env.HOME_APAC), NOW, { chunkRows: CHUNK_ROWS, statements: 80 });
    }
    expect(runs).toBeGreaterThan(1);
    expect(runs).toBeLessThan(30);
    expect([await countLeft(), await leftInApac()]).toEqual([5 * CHUNK_ROWS, 5 * CHUNK_ROWS]);
  });

  it("the pruner starts at any home when the stored place names an unknown one", async () => {
    await sql("INSERT INTO jobs VALUES ('prune', 'gone-home')").run();
    await putInApac(1, NOW);
    const { removed } = await prune(runtime, deployment(env.DB, env.HOME_APAC), NOW, LIMITS);
    expect(removed.apac).toMatchObject({ nonces: 1 });
  });
});

describe("a run of the pruner with nothing to delete", () => {
  it("a run of the pruner with nothing to delete in two homes fits into the 50 statements of Workers Free", async () => {
    const [main, apac] = [watch(), watch(undefined, env.HOME_APAC)];
    const counts = async () => {
      await prune(runtime, deployment(main.db, apac.db), NOW);
      return main.cost.statements + apac.cost.statements;
    };
    // The first run stores where it begins.
    const first = await counts();
    expect((await counts()) - first + 1).toBeLessThan(50);
  });
});

describe("runs of the pruner on Workers Free", () => {
  const HOMES = ["main", "b", "c", "d"];

  /** Homes of one invocation. All except `main` are one database, so that each has all rows of the others. */
  function invocation(allowed: number, failing?: string) {
    let triesLeft = allowed;
    const askedHomes = new Map<string, number>();
    const countIn = (home: string, real: D1Database) =>
      watch(undefined, real, (statements) => {
        askedHomes.set(home, (askedHomes.get(home) ?? 0) + statements);
        triesLeft -= statements;
        if (triesLeft < 0) throw new Error("Too many API requests by single worker invocation.");
        if (home === failing) throw new Error("D1_ERROR: Network connection lost.");
      }).db;
    const homes = new Map(HOMES.map((home) => [home, countIn(home, home === "main" ? env.DB : env.HOME_APAC)]));
    return { askedHomes, settings: { ...deployment(homes.get("main")), homes } };
  }

  /** A run on Workers Free: the homes that it asked, its faults, and the place where the next run starts. */
  async function run(failing?: string) {
    const { askedHomes, settings } = invocation(50, failing);
    const { faults, next } = await prune(runtime, settings, NOW, LIMITS);
    return { askedHomes: [...askedHomes.keys()], faults, next };
  }

  it("runs of the pruner that Workers Free cuts off reach each table of each home after some runs", async () => {
    await putManyNonces("a", 100 * CHUNK_ROWS, 2);
    await Promise.all([putKeys(["a", "add_agents", "k", NOW]), putSession("s", NOW), putForm("f", NOW)]);
    const homes = new Set<string>();
    for (let n = 0; n < 4; n++) {
      await env.HOME_APAC.prepare("INSERT INTO idempotency_keys VALUES (2, 'b', 'add_agents', ?, 'f', 1, ?)")
        .bind(`k${n}`, NOW)
        .run();
      const { askedHomes, faults, next } = await run();
      expect([faults, next]).toEqual([{}, expect.stringMatching(/^\w+\.\w+$/)]);
      for (const home of askedHomes) homes.add(home);
    }
    expect([...homes].sort()).toEqual([...HOMES].sort());
    for (const table of ["idempotency_keys", "console_sessions", "console_forms"] as const) {
      expect(await rowsOf(table)).toEqual([]);
    }
    expect(await countLeft()).toBeLessThan(100 * CHUNK_ROWS);
    expect(await env.HOME_APAC.prepare("SELECT count(*) AS n FROM idempotency_keys").first("n")).toBeLessThan(2);
  });

  it("a run of the pruner starts where Workers Free cut the previous one off", async () => {
    const starts: unknown[] = [];
    for (let n = 0; n < 3; n++) {
      await run();
      starts.push(await sql("SELECT place FROM jobs WHERE name = 'prune'").first("place"));
    }
    expect(new Set(starts).size).toBeGreaterThan(2);
    expect(starts).not.toContain(null);
  });

  it("runs of the pruner that are cut off reach all homes although one home fails", async () => {
    const homes = new Set<string>();
    for (let n = 0; n < 4; n++) for (const home of (await run("b")).askedHomes) homes.add(home);
    expect([...homes].sort()).toEqual([...HOMES].sort());
  });

  it("the pruner starts with a random table while the directory is down", async () => {
    const homes = new Set<string>();
    for (const random of [0.4, 0.7]) {
      const { askedHomes, settings } = invocation(50, "main");
      await prune({ ...runtime, random: () => random }, settings, NOW, LIMITS);
      for (const home of askedHomes.keys()) homes.add(home);
    }
    expect([...homes].sort()).toEqual([...HOMES].sort());
  });
});

it("two simultaneous runs of the pruner remove expired rows once and keep live ones", async () => {
  await putManyNonces("a", 6 * CHUNK_ROWS, 2);
  const few = { statements: 60 };
  const both = await Promise.all([runOnce(NOW, few), runOnce(NOW, few), runOnce(NOW), runOnce(NOW)]);
  const removed = both.reduce((sum, { nonces }) => sum + nonces, 0);
  expect(removed + (await runOnce()).nonces).toBe(3 * CHUNK_ROWS);
  expect(await countLeft()).toBe(3 * CHUNK_ROWS);
  await putNonces(["A", "gone", NOW], ["z", "gone", NOW]);
  expect((await runOnce()).nonces).toBe(2);
});

describe("the scheduled handler", () => {
  const runAt = (seconds: number, db = env.DB) => {
    const controller = createScheduledController({ cron: "*/5 * * * *", scheduledTime: seconds * 1000 + 999 });
    return worker.scheduled(controller, { ...env, DB: db } as Bindings);
  };

  it("the cron prunes rows that expired by its scheduled time, and logs how many", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    await putNonces(["a", "gone", NOW + 1500], ["a", "live", NOW + 1501]);
    await putKeys(["a", "add_agents", "gone", NOW + 1500], ["a", "add_agents", "live", NOW + 1501]);
    await runAt(NOW + 1500);
    expect(await rowsOf("nonces")).toMatchObject([{ ranstr: "live" }]);
    expect(await rowsOf("idempotency_keys")).toMatchObject([{ key: "live" }]);
    const pruned = { main: { ...NONE, nonces: 1, idempotency_keys: 1 }, apac: NONE_APAC };
    expect(recordsOf(log)).toEqual([{ job: "prune", outcome: "ok", pruned, ms: expect.any(Number) }]);
  });

  const FOUR = ["nonces", "idempotency_keys", "console_sessions", "console_forms"] as const;
  const FAILING = ["nonces", "console_forms"] as const;
  it.each(FAILING)("the cron prunes the other tables when %s fails, logs why, and fails at the end", async (table) => {
    vi.spyOn(console, "log").mockImplementation(() => {});
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    await putNonces(["a", "gone", NOW]);
    await putKeys(["a", "add_agents", "gone", NOW]);
    await putSession("gone", NOW);
    await putForm("gone", NOW);
    const fault = `D1_ERROR: no such table: ${table}: SQLITE_ERROR`;
    const { db } = watch({ naming: new RegExp(`\\b${table}\\b`), times: 100, error: fault });
    await expect(runAt(NOW, db)).rejects.toThrow(/^not pruned: main\./);
    const all = { ...NONE, nonces: 1, idempotency_keys: 1, console_sessions: 1, console_forms: 1 };
    // A home without this table sends no metrics of itself.
    const expected = {
      pruned: { main: { ...all, [table]: 0 }, apac: NONE_APAC },
      not_pruned: { main: { [table]: fault, usage: fault } },
    };
    expect(recordsOf(error)).toEqual([{ job: "prune", outcome: "failed", ...expected, ms: expect.any(Number) }]);
    await runAt(NOW);
    for (const each of FOUR) expect(await rowsOf(each)).toEqual([]);
  });

  it("the cron prunes although D1 refuses the check of MASTER_KEY, and fails at the end without showing a parameter", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    const fault = "D1_ERROR: wrong number of parameter bindings: SQLITE_ERROR";
    const { db } = watch({ naming: /any_app/, times: 100, error: fault });
    await expect(runAt(NOW, db)).rejects.toThrow(new Error(`what is sealed: ${fault}`));
    expect(recordsOf(log)).toMatchObject([{ job: "prune", outcome: "ok" }]);
  });

  it("the cron fails when D1 does not answer, and names every table that was not pruned", async () => {
    vi.spyOn(console, "log").mockImplementation(() => {});
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    await expect(runAt(NOW, downDb(env.DB))).rejects.toThrow(
      "not pruned: main.nonces, main.usage, main.idempotency_keys, main.events, main.deliveries, main.refusals, main.sessions, main.deleted_sites, main.audit_log, main.console_sessions, main.console_forms, main.admin_tokens, main.people, main.erasure_receipts, main.freed_appids, apac.usage",
    );
    const [record = {}] = recordsOf(error);
    expect(Object.keys((record.not_pruned as { main: object }).main)).toHaveLength(15);
  });

  it("the pruner keeps the session of a request for ever, and its nonce until the nonce expires", async () => {
    const world = await World.create();
    expect((await world.send("create_gd", world.createBody())).status).toBe(200);
    const [nonce] = (await world.stored()).nonces;
    const expiresAt = Number(nonce?.expires_at);
    expect(expiresAt).toBeGreaterThan(NOW + 2 * 300);
    expect((await runOnce(expiresAt - 1)).nonces).toBe(0);
    expect((await runOnce(expiresAt)).nonces).toBe(1);
    expect((await world.stored()).sessions).toHaveLength(1);
  });
});
