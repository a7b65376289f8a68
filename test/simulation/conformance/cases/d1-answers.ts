import { type Cases, errorOf } from "../case.ts";
import { ask, batch, casesOf, each, seen, statementsOf } from "./ask.ts";

const NUMBERS = "CREATE TABLE numbers (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER DEFAULT 0)";
const THREE = "INSERT INTO numbers (name) VALUES ('a'), ('b'), ('c')";

/** Statements that are sent one by one after NUMBERS and THREE. */
const WRITTEN: Record<string, string> = {
  "some statements change no rows, and keep the last rowid":
    "CREATE TABLE other (a) ;; SELECT name FROM numbers ;; DROP TABLE other",
  "an UPDATE counts the rows that it found, changed or not":
    "UPDATE numbers SET size = 0 ;; UPDATE numbers SET size = 1 WHERE id = 9",
  "INSERT OR REPLACE counts one row for each":
    "INSERT OR REPLACE INTO numbers (id, name) VALUES (1, 'b'), (9, 'd') ;; SELECT * FROM numbers",
  "DO NOTHING counts nothing, and RETURNING leaves it out":
    "INSERT INTO numbers (name) VALUES ('c'), ('d') ON CONFLICT DO NOTHING RETURNING name",
  "DO UPDATE counts as a change, but not what its WHERE leaves": `${THREE} ON CONFLICT DO UPDATE SET size = 5 WHERE name <> 'b' RETURNING name, size`,
  "RETURNING gives the rows and counts them":
    "UPDATE numbers SET size = size + 1 WHERE id > 1 RETURNING * ;; DELETE FROM numbers RETURNING id",
  "a table WITHOUT ROWID gives no rowid":
    "CREATE TABLE k (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID ;; INSERT INTO k VALUES (7, 'y'), (8, 'z')",
  "an id beyond 2^53 is told as the nearest number":
    "INSERT INTO numbers (id, name) VALUES (9007199254740993, 'x') ;; SELECT id FROM numbers",
  "rows that a foreign key deletes are counted": `CREATE TABLE parts (number INTEGER REFERENCES numbers ON DELETE CASCADE) ;;
    INSERT INTO parts VALUES (1), (1), (2) ;; DELETE FROM numbers WHERE id = 1 ;; SELECT * FROM parts`,
  "rows that a trigger writes are counted, and give no rowid": `CREATE TABLE notes (text) ;;
    CREATE TRIGGER note AFTER INSERT ON numbers BEGIN INSERT INTO notes VALUES (new.name); END ;; INSERT INTO numbers (id, name) VALUES (70, 'x')`,
};

/** Expressions in which two builds of SQLite might differ. */
const COMPUTED = `
  SELECT key, value, type, atom, fullkey FROM json_each('[7, "a", null, true, 2.5, [1], {"a": 1}, 9007199254740993]') ;;
  SELECT j ->> 'a' AS a, j -> 'a' AS b, j ->> 'o' AS o, j ->> 'none' AS n, j ->> '$.o.x' AS x
    FROM (SELECT '{"a":"t","o":{"x":true}}' AS j) ;;
  SELECT json_object('b', 1.0, 'a', NULL, 'n', 7, 't', 'x"y', 'j', json('[1]')) AS json ;;
  SELECT json_group_array(value) AS some, json_group_array(value) FILTER (WHERE false) AS none FROM json_each('[3,"a",null]') ;;
  SELECT (1, 'b') > (1, 'a') AS a, (2, NULL) > (1, 1) AS b, (1, NULL) > (1, 1) AS c ;;
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i * 2 FROM n WHERE i < 999) SELECT max(i) AS i, count(*) AS n FROM n ;;
  SELECT max(1, NULL) AS a, coalesce(NULL, 3) AS b, NULL <> 1 AS c, -7 / 2 AS d, 1 / 0 AS e, 9223372036854775807 + 1 AS f ;;
  SELECT value FROM json_each('["b", "B", "é", "a", "🙂", "", "1", 2, null, 1]') ORDER BY value ;;
  SELECT 'ABC' LIKE 'a_c' AS a, 'É' LIKE 'é' AS b, lower('ÄB') AS c, substr('🙂é王x', 2, 1) AS d, length('🙂é王x') AS e ;;
  SELECT "a", "b" FROM (SELECT 1 AS a) ;;
  -- one
  /* two */ SELECT 1 AS a;`;

/** Rules of a statement's answer. */
export const answerCases: Cases<D1Database> = {
  ...casesOf("", WRITTEN, (db, statements) => each(db, NUMBERS, THREE, ...statements)),
  "expressions come to the same": (db) => each(db, ...statementsOf(COMPUTED)),
  "all() and run() give rows as objects: numbers as names first, of columns with one name the last": async (db) => {
    const statement = db.prepare(
      "SELECT 1 AS a, 2 AS b, 3 AS a, 4 AS '1', 1 + 1, (SELECT 3) UNION ALL SELECT 5, 6, 7, 8, 9, NULL",
    );
    return [seen(await statement.all()), seen(await statement.run()), await ask(db, "SELECT 1 AS a WHERE false")];
  },
  "raw() gives rows as lists, with columnNames the names first, but none of what has no columns": async (db) => {
    const [two, none] = [db.prepare("SELECT 1 AS a, 2 AS a"), db.prepare("SELECT 1 AS a WHERE false")];
    const names = { columnNames: true } as const;
    const answers = [await two.raw(), await two.raw(names), await none.raw(), await none.raw(names)];
    return [...answers, await db.prepare(NUMBERS).raw(names)];
  },
  "first() gives the first row or one value of it, and null of no rows": async (db) => {
    const [two, none] = [
      db.prepare("SELECT 1 AS a, NULL AS b UNION ALL SELECT 3, 4"),
      db.prepare("SELECT 1 WHERE false"),
    ];
    const answers = [
      await two.first(),
      await two.first("a"),
      await two.first("b"),
      await none.first(),
      await none.first("c"),
    ];
    return [...answers, await errorOf(() => two.first("c"))];
  },
  "an answer says how many bytes the database has, whole pages": async (db) => {
    const first = (await db.prepare("SELECT 1").run()).meta.size_after;
    await ask(db, NUMBERS);
    const { meta } = await db.prepare(THREE).run();
    return [first % 4_096, meta.size_after % 4_096, meta.size_after > first];
  },
  "a statement prepared before a column was added gives it, and fails when its table is gone": async (db) => {
    await batch(db, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)");
    const all = db.prepare("SELECT * FROM t");
    const before = seen(await all.all());
    await ask(db, "ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'x'");
    const after = seen(await all.all());
    await ask(db, "DROP TABLE t");
    return [before, after, await errorOf(() => all.all())];
  },
  "a column that a failed batch renamed has its name": async (db) => {
    await batch(db, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)");
    const all = "SELECT * FROM t";
    const error = await errorOf(() => batch(db, all, "ALTER TABLE t RENAME a TO b", all, "SELECT * FROM none"));
    return [error, await ask(db, all)];
  },
};
