import { type Cases, errorOf } from "../case.ts";
import { ask, batch, seen } from "./ask.ts";

/**
 * Rules of the SQL dialect: functions and clauses that src/ uses, and those in which two builds of SQLite might differ.
 */
export const sqlCases: Cases<D1Database> = {
  "json_each gives key, value and type of each element": (db) =>
    ask(
      db,
      "SELECT key, value, type, atom, fullkey FROM json_each(?)",
      JSON.stringify([7, "a", null, true, 2.5, [1], { a: 1 }]),
    ),
  "json_each of an empty list gives no rows": (db) => ask(db, "SELECT value FROM json_each('[]')"),
  "json_each gives integers beyond 2^53": (db) =>
    ask(db, "SELECT value, typeof(value) AS t FROM json_each('[9007199254740993]')"),
  "->> reads a member as SQL, -> as JSON": (db) =>
    ask(
      db,
      `SELECT j ->> 'a' AS a, j -> 'a' AS b, j ->> 'n' AS n, j ->> 'o' AS o, j ->> 'none' AS none, j ->> '$.o.x' AS x
      FROM (SELECT ? AS j)`,
      JSON.stringify({ a: "text", n: 7, o: { x: true } }),
    ),
  "json_object keeps its order and its types": (db) =>
    ask(db, "SELECT json_object('b', ?, 'a', NULL, 'n', 7, 'r', 7.0, 't', 'x\"y', 'j', json('[1]')) AS json", 1),
  "json_group_array gives a list, and an empty list of no rows": (db) =>
    ask(
      db,
      "SELECT json_group_array(value) AS some, json_group_array(value) FILTER (WHERE false) AS none FROM json_each('[3,\"a\",null]')",
    ),
  "row values compare from left to right": (db) =>
    ask(
      db,
      "SELECT (1, 'b') > (1, 'a') AS a, (1, 'b') > (?, ?) AS b, (2, NULL) > (1, 1) AS c, (1, NULL) > (1, 1) AS d",
      0,
      "z",
    ),
  "row values compare the columns of a key": async (db) => {
    await db.prepare("CREATE TABLE keyed (a INTEGER, b TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID").run();
    await db.prepare("INSERT INTO keyed VALUES (2, 'a'), (1, 'b'), (1, 'a'), (1, 'B')").run();
    return [
      await ask(db, "SELECT * FROM keyed"),
      await ask(db, "SELECT * FROM keyed WHERE (a, b) > (?, ?) LIMIT 2", 1, "B"),
    ];
  },
  "a recursive query ends by itself": (db) =>
    ask(
      db,
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i * 2 FROM n WHERE i < ?) SELECT max(i) AS i, count(*) AS n FROM n",
      1000,
    ),
  "an INSERT from json_each needs WHERE true before ON CONFLICT": async (db) => {
    await db.prepare("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)").run();
    const sql =
      "INSERT INTO t SELECT value ->> 'id', value ->> 'name' FROM json_each(?) WHERE true ON CONFLICT DO UPDATE SET name = excluded.name";
    const rename = (id: number, name: string) =>
      ask(
        db,
        sql,
        JSON.stringify([
          { id, name },
          { id: 9, name: "z" },
        ]),
      );
    return [await rename(1, "a"), await rename(2, "b"), await rename(1, "c"), await ask(db, "SELECT * FROM t")];
  },
  "max() of two values, coalesce, and what NULL does to them": (db) =>
    ask(db, "SELECT max(1, 2) AS a, max(1, NULL) AS b, coalesce(NULL, 3) AS c, NULL <> 1 AS d, NULL IS NULL AS e"),
  "an integer division cuts, a division by zero is NULL": (db) =>
    ask(db, "SELECT 7 / 2 AS a, -7 / 2 AS b, 1 / 0 AS c, 7 % 0 AS d"),
  "a sum beyond 2^63 becomes a real": (db) =>
    ask(db, "SELECT 9223372036854775807 + 1 AS a, typeof(9223372036854775807 + 1) AS t"),
  "text compares byte by byte": (db) =>
    ask(db, "SELECT value FROM json_each(?) ORDER BY value", JSON.stringify(["b", "B", "é", "a", "🙂", "Z", ""])),
  "numbers sort before text, NULL before both": (db) =>
    ask(db, "SELECT value FROM json_each('[\"1\",2,null,1]') ORDER BY value"),
  "LIKE ignores the case of ASCII letters only": (db) =>
    ask(db, "SELECT 'ABC' LIKE 'a_c' AS a, 'É' LIKE 'é' AS b, lower('ÄB') AS c"),
  "substr and length count code points": (db) =>
    ask(db, "SELECT substr(?1, 2, 1) AS a, length(?1) AS b, instr(?1, 'x') AS c", "🙂é王x"),
  "a name in double quotes is a column, and a text where there is no such column": (db) =>
    ask(db, 'SELECT "a", "b" FROM (SELECT 1 AS a)'),
  "a partial index serves": async (db) => {
    await db.prepare("CREATE TABLE t (a, b)").run();
    await db.prepare("CREATE INDEX some ON t (a) WHERE b IS NOT NULL").run();
    return db.prepare("EXPLAIN QUERY PLAN SELECT a FROM t WHERE a = 1 AND b IS NOT NULL").first("detail");
  },
  "sqlite_master lists what was made": async (db) => {
    await db.prepare("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE)").run();
    await db.prepare("CREATE INDEX by_a ON t (a)").run();
    return ask(db, "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'");
  },
  "a new id is the highest so far plus one": async (db) => {
    await db.prepare("CREATE TABLE t (id INTEGER PRIMARY KEY, a)").run();
    await db.prepare("INSERT INTO t (id, a) VALUES (5, 'a'), (NULL, 'b')").run();
    await db.prepare("DELETE FROM t WHERE id = 6").run();
    return ask(db, "INSERT INTO t (a) VALUES ('c') RETURNING id");
  },
  "a statement may end in a semicolon": (db) => ask(db, "SELECT 1 AS a;\n"),
  "a statement may begin with a comment": (db) => ask(db, "-- one\n/* two */ SELECT 1 AS a"),
  "a statement prepared before a column was added gives it": async (db) => {
    await db.prepare("CREATE TABLE t (a)").run();
    await db.prepare("INSERT INTO t VALUES (1)").run();
    const all = db.prepare("SELECT * FROM t");
    const before = seen(await all.all());
    await db.prepare("ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'x'").run();
    return [before, seen(await all.all()), await all.raw({ columnNames: true })];
  },
  "a column that a failed batch renamed has its name": async (db) => {
    await batch(db, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)");
    const all = "SELECT * FROM t";
    const error = await errorOf(() => batch(db, all, "ALTER TABLE t RENAME a TO b", all, "SELECT * FROM none"));
    return [error, await ask(db, all)];
  },
  "a statement prepared before a table was dropped fails": async (db) => {
    await db.prepare("CREATE TABLE t (a)").run();
    const all = db.prepare("SELECT * FROM t");
    await all.all();
    await db.prepare("DROP TABLE t").run();
    return errorOf(() => all.all());
  },
};
