import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ServiceError } from "../../../src/core/errors.ts";
import { DatabaseStalled, databaseFault, runBatch, withRetries } from "../../../src/core/store/run-batch.ts";
import { FAULTS, type Fault, Faults, faultyD1, TRANSIENT_MESSAGE } from "../../support/faulty-bindings.ts";
import { withoutWaiting } from "../../support/patient-fetch.ts";
import { replacing } from "../../support/replacing.ts";
import { runtimeAt } from "../../support/test-runtime.ts";

const RUNTIME = runtimeAt(() => Date.now());

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** Errors of D1's list, and of SQLite through D1, as workerd throws them: their cause has the text without the prefix. */
const d1Error = (text: string) => new Error(`D1_ERROR: ${text}`, { cause: new Error(text) });

const TRANSIENT = [
  "D1 DB reset because its code was updated.",
  "Internal error while starting up D1 DB storage caused object to be reset.",
  "Network connection lost.",
  "Internal error in D1 DB storage caused object to be reset.",
  "Cannot resolve D1 DB due to transient issue on remote node.",
  "Can't read from request stream because client disconnected.",
  "D1 DB storage operation exceeded timeout which caused object to be reset.",
];

const UNKNOWN = [
  "D1 DB is overloaded. Requests queued for too long.",
  "D1 DB is overloaded. Too many requests queued.",
  "D1 DB's isolate exceeded its memory limit and was reset.",
  "D1 DB exceeded its CPU time limit and was reset.",
  "Exceeded maximum DB size.",
  "database is locked: SQLITE_BUSY",
  "database or disk is full: SQLITE_FULL",
  "out of memory: SQLITE_NOMEM",
  "disk I/O error: SQLITE_IOERR",
  "interrupted: SQLITE_INTERRUPT",
  "Failed to parse body as JSON, got: <html>",
];

const REFUSED = [
  'near "SELEC": syntax error at offset 0: SQLITE_ERROR',
  "UNIQUE constraint failed: sites.id: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)",
  "FOREIGN KEY constraint failed: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)",
  "datatype mismatch: SQLITE_MISMATCH",
  "string or blob too big: SQLITE_TOOBIG",
  "Wrong number of parameter bindings for SQL query.",
];

/** Errors of a database that was not migrated, or that was restored to a time before a migration. */
const NOT_MIGRATED = [
  "no such table: sessions: SQLITE_ERROR",
  "no such column: metadata: SQLITE_ERROR",
  "table sessions has no column named metadata: SQLITE_ERROR",
];

const tries = (before = 0) => ({ answerBy: Date.now() + 8_000, before });

/** The outcome and the number of tries of a call that fails with the given errors, one for each try. */
async function outcomeOf(...thrown: unknown[]): Promise<{ refusal: ServiceError; tries: number }> {
  let tries = 0;
  const call = () => {
    const next = thrown[Math.min(tries, thrown.length - 1)];
    tries += 1;
    return Promise.reject(next);
  };
  const refusal = await withoutWaiting(
    withRetries(RUNTIME, call).catch((error: unknown) => error),
    new Faults(),
  );
  expect(refusal).toBeInstanceOf(ServiceError);
  return { refusal: refusal as ServiceError, tries };
}

describe("withRetries", () => {
  it.each(TRANSIENT)("withRetries tries three times and then reports an unknown result: %s", async (text) => {
    const refusal = { code: "unavailable", context: { retryAfter: expect.any(Number) } };
    expect(await outcomeOf(d1Error(text))).toMatchObject({ tries: 3, refusal });
  });

  it("withRetries treats a lost connection as transient, even without D1's prefix in the error", async () => {
    expect((await outcomeOf(new Error("Network connection lost."))).tries).toBe(3);
  });

  it.each(UNKNOWN)("withRetries does not try again and reports an unknown result: %s", async (text) => {
    const refusal = { code: "unavailable", context: { retryAfter: expect.any(Number) } };
    expect(await outcomeOf(d1Error(text))).toMatchObject({ tries: 1, refusal });
  });

  it.each([[new Error("boom")], [new TypeError("x is not a function")], ["text"], [undefined], [null], [{}]])(
    "withRetries reports an unknown result for any other thrown value: %s",
    async (thrown) => {
      expect(await outcomeOf(thrown)).toMatchObject({ tries: 1, refusal: { code: "unavailable" } });
    },
  );

  it.each(REFUSED)("withRetries reports that nothing was written when the first try is refused: %s", async (text) => {
    expect(await outcomeOf(d1Error(text))).toMatchObject({ tries: 1, refusal: { code: "internal" } });
  });

  it.each(NOT_MIGRATED)(
    "withRetries asks the caller to retry later when the database is not migrated: %s",
    async (text) => {
      const refusal = { code: "unavailable", context: { reason: "d1_not_migrated", retryAfter: 30 } };
      expect(await outcomeOf(d1Error(text))).toMatchObject({ tries: 1, refusal });
    },
  );

  it.each([...REFUSED, ...NOT_MIGRATED])(
    "withRetries reports an unknown result when a try before the refused one was lost: %s",
    async (text) => {
      const outcome = await outcomeOf(d1Error("Network connection lost."), d1Error(text));
      expect(outcome).toMatchObject({ tries: 2, refusal: { code: "unavailable" } });
    },
  );

  it("withRetries says when to come again, and that nothing was sent, when the first try met a stalled database", async () => {
    const context = { reason: "d1_stalled", retryAfter: 3 };
    expect(await outcomeOf(new DatabaseStalled(6_000))).toMatchObject({ tries: 1, refusal: { context } });
    expect(databaseFault(new DatabaseStalled(6_000))).toMatchObject({ code: "unavailable", context });
  });

  it("withRetries reports an unknown result when a try before the one at a stalled database was lost", async () => {
    const outcome = await outcomeOf(d1Error("Network connection lost."), new DatabaseStalled(6_000));
    expect(outcome).toMatchObject({ tries: 2, refusal: { context: { reason: "d1_unavailable" } } });
  });

  it("withRetries tries again after a call that throws synchronously", async () => {
    let tries = 0;
    const call = () => {
      tries += 1;
      if (tries === 1) throw new Error(TRANSIENT_MESSAGE);
      return Promise.resolve("answer");
    };
    expect(await withoutWaiting(withRetries(RUNTIME, call), new Faults())).toBe("answer");
    expect(tries).toBe(2);
  });

  it("withRetries gives each try 3 s and all tries 8 s, with their backoffs", async () => {
    const since = Date.now();
    const starts: number[] = [];
    const silent = () => {
      starts.push(Date.now() - since);
      return new Promise<never>(() => {});
    };
    const outcome = withRetries(RUNTIME, silent).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(7_999);
    expect(starts).toHaveLength(3);
    // The backoff is 25 to 50 ms after the first try, 50 to 100 after the second.
    expect(starts[0]).toBe(0);
    expect(starts[1]).toSatisfy((ms: number) => ms >= 3_025 && ms <= 3_051);
    expect(starts[2]).toSatisfy((ms: number) => ms >= 6_075 && ms <= 6_153);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toMatchObject({ code: "unavailable" });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("runBatch", () => {
  /** The table shows what was committed. An insert that is safe to run twice represents any batch. */
  const insert = (name: string) => (db: D1Database) => () => ({
    write: db.prepare("INSERT INTO kept (name) VALUES (?) ON CONFLICT DO NOTHING").bind(name),
    outcome: db.prepare("SELECT name FROM kept WHERE name = ?").bind(name),
  });

  beforeEach(async () => {
    await env.DB.batch([
      env.DB.prepare("DROP TABLE IF EXISTS kept"),
      env.DB.prepare("CREATE TABLE kept (name TEXT PRIMARY KEY)"),
    ]);
  });

  const storedRows = async () => (await env.DB.prepare("SELECT name FROM kept").all()).results;

  it.each(FAULTS)(
    "runBatch returns the row and stores it once when the first of three tries fails: %s",
    async (fault) => {
      const faults = new Faults(({ nth }) => (nth === 0 ? fault : undefined));
      const db = faultyD1(env.DB, faults);
      expect(await withoutWaiting(runBatch(RUNTIME, db, insert("a")(db), tries()), faults)).toEqual({
        write: [],
        outcome: [{ name: "a" }],
      });
      expect(faults.calls).toEqual(["DB.batch", "DB.batch"]);
      await faults.end();
      expect(await storedRows()).toEqual([{ name: "a" }]);
    },
  );

  it.each<[Fault, number]>([
    ["before", 0],
    ["during", 0],
    ["after", 1],
    ["throws", 0],
    ["never done", 0],
    ["done in silence", 1],
    ["late", 0],
  ])("runBatch reports an unknown result when all three tries fail %s", async (fault, rows) => {
    const faults = new Faults(() => fault);
    const db = faultyD1(env.DB, faults);
    const result = withoutWaiting(runBatch(RUNTIME, db, insert("a")(db), tries()), faults);
    await expect(result).rejects.toMatchObject({ code: "unavailable" });
    expect(faults.calls).toHaveLength(3);
    expect(await storedRows()).toHaveLength(rows);
    await faults.end();
  });

  it("runBatch gives each try its number within the request, counting earlier runs", async () => {
    const faults = new Faults(({ nth }) => (nth < 2 ? "before" : undefined));
    const db = faultyD1(env.DB, faults);
    const reports: number[] = [];
    const batch = (attempt: number) => {
      reports.push(attempt);
      return { outcome: db.prepare("SELECT 1 AS one") };
    };
    await withoutWaiting(runBatch(RUNTIME, db, batch, tries(3)), faults);
    expect(reports).toEqual([4, 5, 6]);
  });

  it("runBatch reports an unknown result when the database answers without the row", async () => {
    const result = runBatch(RUNTIME, env.DB, () => ({ outcome: env.DB.prepare("SELECT name FROM kept") }), tries());
    await expect(result).rejects.toMatchObject({ code: "unavailable", context: { retryAfter: expect.any(Number) } });
  });

  it("runBatch reports a statement that cannot be bound as the service's fault, and asks for no retry", async () => {
    const batch = runBatch(RUNTIME, env.DB, () => ({ outcome: env.DB.prepare("SELECT ?").bind(1n as never) }), tries());
    await expect(batch).rejects.toMatchObject({ code: "internal" });
  });
});

describe("databaseFault", () => {
  it("databaseFault reports a fault as a call with a single try does", () => {
    for (const text of [...TRANSIENT, ...UNKNOWN]) {
      expect(databaseFault(d1Error(text)), text).toMatchObject({ code: "unavailable" });
    }
    for (const text of REFUSED) expect(databaseFault(d1Error(text)), text).toMatchObject({ code: "internal" });
    const context = { reason: "d1_not_migrated", retryAfter: 30 };
    for (const text of NOT_MIGRATED) {
      expect(databaseFault(d1Error(text)), text).toMatchObject({ code: "unavailable", context });
    }
    for (const text of ["Network connection lost.", "internal error; reference = 0123456789abcdef"]) {
      expect(databaseFault(new Error(text)), text).toMatchObject({ code: "unavailable" });
    }
  });

  it("databaseFault reads D1's own message, not the message of a wrapper that quotes parameters", () => {
    const wrapped = (text: string) =>
      new Error("Failed query: INSERT … params: constraint failed, D1_TYPE_ERROR", { cause: d1Error(text) });
    expect(databaseFault(wrapped(String(UNKNOWN[0])))).toMatchObject({ code: "unavailable" });
    expect(databaseFault(wrapped(String(REFUSED[1])))).toMatchObject({ code: "internal" });
  });

  it("databaseFault ignores errors that no database threw", () => {
    for (const error of [new TypeError("x is not a function"), "constraint failed", undefined]) {
      expect(databaseFault(error)).toBeUndefined();
    }
  });
});

describe("database calls of one request", () => {
  it("the database calls of one request share one time limit", async () => {
    const answerBy = Date.now() + 4_000;
    const hanging = () => new Promise<never>(() => {});
    const both = withRetries(RUNTIME, hanging, answerBy)
      .catch(() => withRetries(RUNTIME, hanging, answerBy))
      .catch((error: ServiceError) => ({ code: error.code, late: Date.now() - answerBy }));
    await vi.advanceTimersByTimeAsync(16_000);
    const { code, late } = (await both) as { code: string; late: number };
    expect([code, late <= 200]).toEqual(["unavailable", true]);
  });

  it.each([null, {}, "x", [null], [{}]])(
    "the database calls of a request report an unknown result when D1 answers %j",
    async (answer) => {
      const db = replacing(env.DB, { batch: async () => answer });
      await expect(
        runBatch(RUNTIME, db, () => ({ outcome: env.DB.prepare("SELECT 1") }), tries()),
      ).rejects.toMatchObject({ code: "unavailable" });
    },
  );
});
