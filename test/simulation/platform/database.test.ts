import { describe, expect, test } from "vitest";
import { SimulatedD1 } from "./d1.ts";
import { Database, type RowChange } from "./database.ts";

const SCHEMA = `
  CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size REAL);
  CREATE TABLE things (owner INTEGER REFERENCES owners ON DELETE CASCADE, name TEXT, PRIMARY KEY (owner, name)) WITHOUT ROWID;
  CREATE TABLE unwatched (a);
  CREATE INDEX by_size ON owners (size);`;

/** A database that watches the tables owners and things, and the changes that onCommit has got, by transaction. */
function watchedDatabase() {
  const database = new Database();
  database.execute(SCHEMA);
  const reports: RowChange[][] = [];
  database.onCommit = (changes) => reports.push(changes);
  database.watch(["owners", "things"]);
  const run = (...statements: string[]) => database.transaction(statements.map((sql) => ({ sql, values: [] })));
  return { database, reports, run };
}

const owner = (id: number, name: string | null, size: number | null = null) => ({ id, name, size });
const insertion = (table: string, after: RowChange["after"]): RowChange => ({ table, before: null, after });
const deletion = (table: string, before: RowChange["before"]): RowChange => ({ table, before, after: null });

describe("a watch", () => {
  test("onCommit gets the changes of each transaction in one call, in their order", () => {
    const { reports, run } = watchedDatabase();
    run("INSERT INTO owners VALUES (2, 'b', 0.5), (1, NULL, NULL)", "INSERT INTO things VALUES (1, 'x')");
    run(
      "UPDATE owners SET size = 7 WHERE id = 2",
      "DELETE FROM things",
      "INSERT INTO owners (id) VALUES (3)",
      "DELETE FROM owners WHERE id = 3",
    );
    expect(reports).toEqual([
      [
        insertion("owners", owner(2, "b", 0.5)),
        insertion("owners", owner(1, null)),
        insertion("things", { owner: 1, name: "x" }),
      ],
      [
        { table: "owners", before: owner(2, "b", 0.5), after: owner(2, "b", 7) },
        deletion("things", { owner: 1, name: "x" }),
        insertion("owners", owner(3, null)),
        deletion("owners", owner(3, null)),
      ],
    ]);
  });

  test("onCommit gets an upsert as an insert, as an update or not at all, and no change of an unwatched table", () => {
    const { reports, run } = watchedDatabase();
    const upsert = "INSERT INTO owners VALUES (1, 'a', 1) ON CONFLICT DO UPDATE SET size = size + 1 WHERE size < 2";
    run(upsert);
    run(upsert);
    run(upsert);
    run("INSERT INTO owners VALUES (1, 'z', 9) ON CONFLICT DO NOTHING", "INSERT INTO unwatched VALUES (1)");
    expect(reports).toEqual([
      [insertion("owners", owner(1, "a", 1))],
      [{ table: "owners", before: owner(1, "a", 1), after: owner(1, "a", 2) }],
    ]);
  });

  test("onCommit gets the rows that a REPLACE and a foreign key remove", () => {
    const { reports, run } = watchedDatabase();
    run("INSERT INTO owners VALUES (1, 'a', 1)", "INSERT INTO things VALUES (1, 'x')");
    run("INSERT OR REPLACE INTO owners VALUES (2, 'a', 2)");
    expect(reports[1]).toEqual([
      deletion("things", { owner: 1, name: "x" }),
      deletion("owners", owner(1, "a", 1)),
      insertion("owners", owner(2, "a", 2)),
    ]);
  });

  test("onCommit gets the values as they are stored, after the commit", () => {
    const { database, reports } = watchedDatabase();
    const read: unknown[] = [];
    database.onCommit = (changes) => {
      reports.push(changes);
      read.push(...database.rows("owners"));
    };
    const name = 'it\'s "a" \0 🙂\n';
    const values = [Number.MAX_SAFE_INTEGER, name, 0.1];
    database.transaction([{ sql: "INSERT INTO owners VALUES (?, ?, ?)", values }]);
    expect(reports).toEqual([[insertion("owners", owner(Number.MAX_SAFE_INTEGER, name, 0.1))]]);
    expect(reports[0]?.[0]?.after).toEqual(read[0]);
  });

  test("onCommit never gets the changes of a transaction that fails", () => {
    const { database, reports, run } = watchedDatabase();
    expect(() =>
      run(
        "INSERT INTO owners VALUES (1, 'a', 1)",
        "UPDATE owners SET size = 2",
        "INSERT INTO owners VALUES (2, 'a', 1)",
      ),
    ).toThrow("UNIQUE");
    expect(reports).toEqual([]);
    run("INSERT INTO owners VALUES (3, 'c', 3)");
    expect(reports).toEqual([[insertion("owners", owner(3, "c", 3))]]);
    expect(database.rows("owners")).toEqual([owner(3, "c", 3)]);
  });
});

describe("restore()", () => {
  /** The schema and every row. */
  const everything = (database: Database) =>
    ["sqlite_master", "owners", "things", "unwatched"].map((table) => database.rows(table));

  test("restore() brings back every row and the schema, each time it is called", () => {
    const { database, run } = watchedDatabase();
    run("INSERT INTO owners VALUES (1, 'a🙂', 0.5), (2, NULL, 9007199254740991)", "INSERT INTO things VALUES (1, '')");
    const snapshot = database.snapshot();
    const before = everything(database);
    for (let i = 0; i < 2; i++) {
      run("DELETE FROM owners", "INSERT INTO owners VALUES (9, 'later', 9)");
      database.execute("DROP INDEX by_size; ALTER TABLE unwatched ADD b");
      expect(everything(database)).not.toEqual(before);
      database.restore(snapshot);
      expect(everything(database)).toEqual(before);
    }
  });

  test("a statement that was prepared before restore() works after it", async () => {
    const { database } = watchedDatabase();
    const d1 = new SimulatedD1(database);
    const insert = d1.prepare("INSERT INTO owners (id, name) VALUES (?, ?)");
    const names = d1.prepare("SELECT name FROM owners ORDER BY id");
    await insert.bind(1, "a").run();
    const snapshot = database.snapshot();
    await insert.bind(2, "lost").run();
    database.restore(snapshot);
    await d1.batch([insert.bind(2, "b"), insert.bind(3, "c")]);
    expect(await names.raw()).toEqual([["a"], ["b"], ["c"]]);
  });

  test("after restore(), onCommit gets only later changes, and the limits and foreign keys still hold", () => {
    const { database, reports, run } = watchedDatabase();
    const snapshot = database.snapshot();
    run("INSERT INTO owners VALUES (1, 'a', 1)");
    database.restore(snapshot);
    expect(reports.length).toBe(1);
    run("INSERT INTO owners VALUES (2, 'b', 2)");
    expect(reports.slice(1)).toEqual([[insertion("owners", owner(2, "b", 2))]]);
    expect(() => run("INSERT INTO things VALUES (99, 'x')")).toThrow("FOREIGN KEY");
    expect(() => run(Array(6).fill("SELECT 1").join(" UNION ALL "))).toThrow("too many terms");
  });
});
