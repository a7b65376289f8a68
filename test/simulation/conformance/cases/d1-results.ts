import { type Cases, errorOf } from "../case.ts";
import { each, seen } from "./ask.ts";

const NUMBERS = "CREATE TABLE numbers (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER DEFAULT 0)";
const THREE = "INSERT INTO numbers (name) VALUES ('a'), ('b'), ('c')";

/** Rules of a statement's answer. */
export const resultCases: Cases<D1Database> = {
  "all() gives rows as objects, with the columns in their order": async (db) =>
    seen(await db.prepare("SELECT 'x' AS b, 2 AS a UNION ALL SELECT 'y', NULL").all()),
  "all() of no rows gives an empty list": async (db) => seen(await db.prepare("SELECT 1 AS a WHERE false").all()),
  "an answer says how many bytes the database has, whole pages": async (db) => {
    const first = (await db.prepare("SELECT 1").run()).meta.size_after;
    await db.prepare(NUMBERS).run();
    const [{ meta } = { meta: { size_after: 0 } }] = await db.batch([db.prepare(THREE), db.prepare("SELECT 1")]);
    return [first % 4_096, meta.size_after % 4_096, meta.size_after > first];
  },
  "run() gives rows too": async (db) => seen(await db.prepare("SELECT 1 AS a").run()),
  "of columns with one name an object has the last": async (db) =>
    seen(await db.prepare("SELECT 1 AS a, 2 AS b, 3 AS a").all()),
  "of columns with one name raw() has both": (db) => db.prepare("SELECT 1 AS a, 2 AS b, 3 AS a").raw(),
  "columns with numbers as names come first in an object": async (db) =>
    Object.entries((await db.prepare("SELECT 1 AS b, 2 AS '1', 3 AS '0'").first()) ?? {}),
  "a column without a name has its SQL as its name": (db) =>
    db.prepare("SELECT 1 + 1, 'a' || 'b', count(*), (SELECT 3), max(1,2)").first(),
  "columns of a table keep the table's spelling": async (db) => {
    await db.prepare("CREATE TABLE Spelled (OneName TEXT)").run();
    await db.prepare("INSERT INTO spelled VALUES ('x')").run();
    return [await db.prepare("SELECT * FROM spelled").first(), await db.prepare("SELECT onename FROM spelled").first()];
  },
  "raw() gives rows as lists": (db) => db.prepare("SELECT 1, 'a', NULL UNION ALL SELECT 2, 'b', 2.5").raw(),
  "raw() of no rows gives an empty list": (db) => db.prepare("SELECT 1 WHERE false").raw(),
  "raw() with columnNames begins with them": (db) => db.prepare("SELECT 1 AS a, 2 AS a").raw({ columnNames: true }),
  "raw() with columnNames of no rows gives them only": (db) =>
    db.prepare("SELECT 1 AS a WHERE false").raw({ columnNames: true }),
  "raw() with columnNames of what has no columns gives an empty list": async (db) => {
    await db.prepare(NUMBERS).run();
    return db.prepare(THREE).raw({ columnNames: true });
  },
  "first() gives the first row": (db) => db.prepare("SELECT 1 AS a, 2 AS b UNION ALL SELECT 3, 4").first(),
  "first() of no rows gives null": (db) => db.prepare("SELECT 1 AS a WHERE false").first(),
  "first(column) gives its value": (db) => db.prepare("SELECT 1 AS a, 2 AS b").first("b"),
  "first(column) may be null": (db) => db.prepare("SELECT NULL AS a").first("a"),
  "first(column) of no rows gives null": (db) => db.prepare("SELECT 1 AS a WHERE false").first("none"),
  "first(column) refuses a column that is not there": (db) => errorOf(() => db.prepare("SELECT 1 AS a").first("b")),

  "a CREATE changes no rows": async (db) => [
    ...(await each(db, NUMBERS, THREE)),
    ...(await each(db, "CREATE TABLE other (a)", "CREATE INDEX by_size ON numbers (size)", "DROP TABLE other")),
  ],
  "an INSERT tells how many rows, and the last rowid": (db) => each(db, NUMBERS, THREE),
  "a SELECT changes nothing, and keeps the last rowid": (db) => each(db, NUMBERS, THREE, "SELECT name FROM numbers"),
  "an UPDATE counts the rows that it found, changed or not": (db) =>
    each(db, NUMBERS, THREE, "UPDATE numbers SET size = 0", "UPDATE numbers SET size = 1 WHERE name = 'none'"),
  "a DELETE counts its rows": (db) =>
    each(db, NUMBERS, THREE, "DELETE FROM numbers WHERE name <> 'b'", "DELETE FROM numbers", "DELETE FROM numbers"),
  "DO NOTHING counts nothing": (db) =>
    each(
      db,
      NUMBERS,
      THREE,
      "INSERT INTO numbers (name) VALUES ('a'), ('d') ON CONFLICT DO NOTHING",
      `${THREE} ON CONFLICT DO NOTHING`,
    ),
  "DO UPDATE counts as a change, and keeps the last rowid": (db) =>
    each(db, NUMBERS, THREE, `${THREE} ON CONFLICT DO UPDATE SET size = size + 1 WHERE name <> 'b'`),
  "INSERT OR REPLACE counts one row for each": (db) =>
    each(
      db,
      NUMBERS,
      THREE,
      "INSERT OR REPLACE INTO numbers (id, name) VALUES (1, 'b'), (9, 'd')",
      "SELECT * FROM numbers",
    ),
  "INSERT … SELECT counts its rows": (db) =>
    each(
      db,
      NUMBERS,
      THREE,
      "INSERT INTO numbers (name) SELECT name || name FROM numbers",
      "INSERT INTO numbers (name) SELECT 'x' WHERE false",
    ),
  "WITH … INSERT counts its rows": (db) =>
    each(
      db,
      NUMBERS,
      "WITH made(name) AS (VALUES ('a'), ('b')) INSERT INTO numbers (name) SELECT name FROM made RETURNING id",
    ),
  "RETURNING gives the rows and counts them": (db) =>
    each(
      db,
      NUMBERS,
      `${THREE} RETURNING id, upper(name) AS name`,
      "UPDATE numbers SET size = size + 1 WHERE id > 1 RETURNING *",
      "DELETE FROM numbers WHERE id = 2 RETURNING name",
      "DELETE FROM numbers WHERE id = 2 RETURNING name",
    ),
  "RETURNING leaves out rows that DO NOTHING skipped": (db) =>
    each(db, NUMBERS, THREE, "INSERT INTO numbers (name) VALUES ('c'), ('d') ON CONFLICT DO NOTHING RETURNING name"),
  "RETURNING gives rows that DO UPDATE changed, not those that its WHERE left": (db) =>
    each(
      db,
      NUMBERS,
      THREE,
      "INSERT INTO numbers (name) VALUES ('a'), ('b') ON CONFLICT DO UPDATE SET size = 5 WHERE name = 'b' RETURNING name, size",
    ),
  "first() of RETURNING writes all rows": async (db) => {
    await db.prepare(NUMBERS).run();
    const first = await db.prepare(`${THREE} RETURNING id`).first("id");
    return [first, await db.prepare("SELECT count(*) AS rows FROM numbers").first("rows")];
  },
  "a table WITHOUT ROWID gives no rowid": (db) =>
    each(
      db,
      NUMBERS,
      THREE,
      "CREATE TABLE keyed (a TEXT, b TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID",
      "INSERT INTO keyed VALUES ('x', 'y'), ('x', 'z')",
      "INSERT INTO keyed VALUES ('x', 'y') ON CONFLICT DO UPDATE SET b = 'w' RETURNING *",
      "SELECT * FROM keyed",
    ),
  "an id beyond 2^53 is told as the nearest number": (db) =>
    each(db, NUMBERS, "INSERT INTO numbers (id, name) VALUES (9007199254740993, 'x')", "SELECT id FROM numbers"),
  "rows that a foreign key deletes are counted": (db) =>
    each(
      db,
      NUMBERS,
      THREE,
      "CREATE TABLE parts (number INTEGER REFERENCES numbers ON DELETE CASCADE)",
      "INSERT INTO parts VALUES (1), (1), (2)",
      "DELETE FROM numbers WHERE id = 1",
      "SELECT * FROM parts",
    ),
  "rows that a trigger writes are counted, and give no rowid": (db) =>
    each(
      db,
      NUMBERS,
      "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)",
      "INSERT INTO notes (id) VALUES (70)",
      "CREATE TRIGGER note AFTER INSERT ON numbers BEGIN INSERT INTO notes (text) VALUES (new.name); END",
      THREE,
      "SELECT * FROM notes",
    ),
};
