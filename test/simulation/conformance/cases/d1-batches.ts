import { type Cases, errorOf } from "../case.ts";
import { batch, seen } from "./ask.ts";

const THINGS = "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER CHECK (size > 0))";
const PARTS = "CREATE TABLE parts (thing INTEGER NOT NULL REFERENCES things DEFERRABLE INITIALLY DEFERRED)";
const A = "INSERT INTO things (name) VALUES ('a')";
const B = "INSERT INTO things (name) VALUES ('b')";
const ALL = "SELECT * FROM things";

/** The error of a failing batch, and the things after it. */
async function failed(db: D1Database, ...statements: string[]) {
  return [await errorOf(() => batch(db, ...statements)), await batch(db, ALL)];
}

/** The things after a failing batch. Its error is not compared, because the local D1 of workerd restarts. */
async function leftAlone(db: D1Database, ...statements: string[]) {
  await errorOf(() => batch(db, ...statements));
  return (await db.prepare(ALL).all()).results;
}

/** Rules of a batch, which is one transaction. */
export const batchCases: Cases<D1Database> = {
  "a batch gives the result of each statement, in their order": (db) =>
    batch(db, THINGS, A, ALL, `${B} RETURNING id, name`, "DELETE FROM things", ALL),
  "a batch may hold one statement": (db) => batch(db, "SELECT 1 AS one"),
  "an empty batch is refused": (db) => errorOf(() => db.batch([])),
  "a batch binds each statement's own values": async (db) =>
    (await db.batch([db.prepare("SELECT ? AS a").bind("x"), db.prepare("SELECT ? AS a").bind("y")])).map(seen),
  "a statement may be in a batch twice": async (db) => {
    const insert = db.prepare("INSERT INTO things (name, size) VALUES (?, ?) RETURNING *");
    const made = [insert.bind("a", 1), insert.bind("b", 2), insert.bind("c", 3)];
    return (await db.batch([db.prepare(THINGS), ...made])).map(seen);
  },
  "a statement sees what the one before it wrote": (db) =>
    batch(
      db,
      THINGS,
      A,
      "UPDATE things SET size = 3",
      "INSERT INTO things (name, size) SELECT name || size, size FROM things",
      ALL,
    ),
  "changes() tells of the statement before": (db) =>
    batch(
      db,
      THINGS,
      A,
      "SELECT changes() AS after_insert",
      "UPDATE things SET size = 1 WHERE name = 'none'",
      "SELECT changes() AS after_none",
      "INSERT INTO things (name) VALUES ('b'), ('c')",
      "INSERT INTO things (name) SELECT 'noted ' || changes() WHERE changes() > 0",
      "DELETE FROM things WHERE changes() = 1",
      "SELECT changes() AS after_delete",
    ),
  "changes() keeps its value over statements that write nothing": (db) =>
    batch(db, THINGS, A, ALL, "CREATE TABLE other (a)", "SELECT changes() AS changes"),
  "changes() is told of RETURNING too": (db) =>
    batch(
      db,
      THINGS,
      `${A} RETURNING id`,
      "SELECT changes() AS changes",
      `${A} ON CONFLICT DO NOTHING RETURNING id`,
      "SELECT changes() AS changes",
    ),
  "changes() after an upsert": (db) =>
    batch(
      db,
      THINGS,
      A,
      `${A} ON CONFLICT DO UPDATE SET size = 1`,
      "SELECT changes() AS updated",
      `${A} ON CONFLICT DO UPDATE SET size = 2 WHERE size > 5`,
      "SELECT changes() AS left_alone",
    ),
  "last_insert_rowid() tells of the row before": (db) =>
    batch(
      db,
      THINGS,
      "INSERT INTO things (id, name) VALUES (41, 'a')",
      "INSERT INTO things (name, size) SELECT 'after ' || last_insert_rowid(), last_insert_rowid()",
      "SELECT last_insert_rowid() AS id",
      `${A} ON CONFLICT DO NOTHING`,
      "SELECT last_insert_rowid() AS id",
      ALL,
    ),
  "last_insert_rowid() outlives its call": async (db) => [
    await batch(db, THINGS, "INSERT INTO things (id, name) VALUES (41, 'a')"),
    await batch(db, "SELECT last_insert_rowid() AS id"),
  ],
  "last_insert_rowid() passes by tables WITHOUT ROWID": (db) =>
    batch(
      db,
      THINGS,
      "INSERT INTO things (id, name) VALUES (41, 'a')",
      "CREATE TABLE keyed (a PRIMARY KEY) WITHOUT ROWID",
      "INSERT INTO keyed VALUES (7)",
      "SELECT last_insert_rowid() AS id",
    ),
  "last_insert_rowid() stays after a rollback": async (db) => [
    await batch(db, THINGS, "INSERT INTO things (id, name) VALUES (41, 'a')"),
    await errorOf(() =>
      batch(db, "INSERT INTO things (id, name) VALUES (99, 'b')", "SELECT abs(-9223372036854775808)"),
    ),
    await batch(db, "SELECT last_insert_rowid() AS id", B, "SELECT id FROM things WHERE name = 'b'"),
  ],
  "a batch whose third statement fails leaves nothing": async (db) => [
    await batch(db, THINGS),
    await failed(db, A, B, A, "INSERT INTO things (name) VALUES ('c')"),
  ],
  "a batch that fails undoes updates and deletes": async (db) => [
    await batch(db, THINGS, A, B),
    await failed(db, "UPDATE things SET size = 9", "DELETE FROM things WHERE name = 'a'", "UPDATE things SET size = 0"),
  ],
  "a batch that fails undoes new tables": async (db) => [
    await errorOf(() => batch(db, THINGS, A, A)),
    await errorOf(() => batch(db, ALL)),
  ],
  "a batch with a syntax error at its end writes nothing": async (db) => [
    await batch(db, THINGS),
    await failed(db, A, "SELEC 1"),
  ],
  "a batch with an unknown table at its end writes nothing": async (db) => [
    await batch(db, THINGS),
    await failed(db, A, "SELECT * FROM none"),
  ],
  "a statement that fails halfway leaves nothing of itself": async (db) => [
    await batch(db, THINGS),
    await failed(db, "INSERT INTO things (name, size) VALUES ('a', 1), ('b', 2), ('c', 0)"),
  ],
  "an overflow fails a batch on purpose": async (db) => [
    await batch(db, THINGS),
    await failed(db, A, "SELECT CASE WHEN 1 = 1 THEN abs(-9223372036854775808) END AS guard"),
  ],
  "a foreign key is checked by each statement": async (db) => [
    await batch(db, THINGS, "CREATE TABLE now (thing INTEGER REFERENCES things)"),
    await failed(db, "INSERT INTO now VALUES (1)", "INSERT INTO things (id, name) VALUES (1, 'a')"),
  ],
  "a deferred foreign key is checked at the commit": async (db) => [
    await batch(db, THINGS, PARTS),
    await batch(db, "INSERT INTO parts VALUES (1)", "INSERT INTO things (id, name) VALUES (1, 'a')", ALL),
    await leftAlone(db, "INSERT INTO parts VALUES (2)", "INSERT INTO things (id, name) VALUES (3, 'c')"),
  ],
  "a referenced row cannot be deleted": async (db) => [
    await batch(db, THINGS, A, "CREATE TABLE now (thing INTEGER REFERENCES things)", "INSERT INTO now VALUES (1)"),
    await failed(db, "DELETE FROM things"),
  ],
  "a null refers to nothing": (db) =>
    batch(db, THINGS, "CREATE TABLE now (thing INTEGER REFERENCES things)", "INSERT INTO now VALUES (NULL)"),
  "the database works after a failure": async (db) => [
    await batch(db, THINGS),
    await failed(db, A, A),
    await batch(db, A, ALL),
  ],
  "calls that are sent at once are served one after the other": async (db) => {
    await batch(db, THINGS);
    const insert = (name: string) =>
      batch(db, `INSERT INTO things (name) VALUES ('${name}')`, "SELECT count(*) AS n FROM things");
    return Promise.all(["a", "b", "c"].map(insert));
  },
};
