import { type Cases, errorOf } from "../case.ts";
import { ask } from "./ask.ts";

const TABLE = `CREATE TABLE things (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER CONSTRAINT positive CHECK (size > 0), owner INTEGER REFERENCES things
)`;

/** The error of the last statement; those before it must succeed. */
async function failing(db: D1Database, ...statements: string[]) {
  for (const sql of statements.slice(0, -1)) await db.prepare(sql).run();
  return errorOf(() => db.prepare(statements.at(-1) ?? "").run());
}

const bound = (db: D1Database, sql: string, ...values: unknown[]) => errorOf(() => ask(db, sql, ...values));

/** D1's errors: SQLite's message between `D1_ERROR: ` and the name of SQLite's code. */
export const errorCases: Cases<D1Database> = {
  "every way to send a statement gives the same error": async (db) => {
    const statement = db.prepare("SELECT * FROM none");
    return [
      await errorOf(() => statement.all()),
      await errorOf(() => statement.run()),
      await errorOf(() => statement.first()),
      await errorOf(() => statement.first("a")),
      await errorOf(() => statement.raw()),
      await errorOf(() => db.batch([statement])),
    ];
  },
  "names a broken UNIQUE": (db) => failing(db, TABLE, "INSERT INTO things (name) VALUES ('a'), ('a')"),
  "names a broken UNIQUE over two columns": (db) =>
    failing(db, "CREATE TABLE pairs (a, b, UNIQUE (a, b))", "INSERT INTO pairs VALUES (1, 2), (1, 2)"),
  "names a broken unique index": (db) =>
    failing(
      db,
      "CREATE TABLE pairs (a)",
      "CREATE UNIQUE INDEX one ON pairs (lower(a))",
      "INSERT INTO pairs VALUES ('x'), ('X')",
    ),
  "names a broken PRIMARY KEY": (db) => failing(db, TABLE, "INSERT INTO things (id, name) VALUES (1, 'a'), (1, 'b')"),
  "names a broken PRIMARY KEY of a table WITHOUT ROWID": (db) =>
    failing(db, "CREATE TABLE k (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID", "INSERT INTO k VALUES (1, 2), (1, 2)"),
  "names a broken NOT NULL": (db) => failing(db, TABLE, "INSERT INTO things (name) VALUES (NULL)"),
  "names a broken NOT NULL of a key WITHOUT ROWID": (db) =>
    failing(db, "CREATE TABLE k (a PRIMARY KEY) WITHOUT ROWID", "INSERT INTO k VALUES (NULL)"),
  "names a broken CHECK": (db) => failing(db, TABLE, "INSERT INTO things (name, size) VALUES ('a', 0)"),
  "names a broken FOREIGN KEY": (db) => failing(db, TABLE, "INSERT INTO things (name, owner) VALUES ('a', 9)"),
  "refuses to drop a table that is referred to": (db) =>
    failing(
      db,
      TABLE,
      "CREATE TABLE parts (thing INTEGER NOT NULL REFERENCES things)",
      "INSERT INTO things (name) VALUES ('a')",
      "INSERT INTO parts VALUES (1)",
      "DROP TABLE things",
    ),
  "refuses a text as a rowid": (db) => failing(db, TABLE, "INSERT INTO things (id, name) VALUES ('x', 'a')"),
  "refuses a value of another type in a STRICT table": (db) =>
    failing(db, "CREATE TABLE s (a INTEGER) STRICT", "INSERT INTO s VALUES ('x')"),
  "gives the words of a trigger that refuses": (db) =>
    failing(
      db,
      TABLE,
      "CREATE TRIGGER never BEFORE INSERT ON things BEGIN SELECT RAISE(ABORT, 'never: here'); END",
      "INSERT INTO things (name) VALUES ('a')",
    ),
  "refuses an integer overflow": (db) => failing(db, "SELECT abs(-9223372036854775808)"),
  "refuses malformed JSON": (db) => failing(db, "SELECT json_each.value FROM json_each('[1,')"),
  "refuses a malformed JSON path": (db) => failing(db, "SELECT json_extract('{}', 'a')"),
  "refuses a syntax error": (db) => failing(db, "SELEC 1"),
  "refuses an incomplete statement": (db) => failing(db, "SELECT 1 +"),
  "refuses an unknown character": (db) => failing(db, "SELECT 1 # 2"),
  "refuses an unknown table": (db) => failing(db, "SELECT * FROM none"),
  "refuses an unknown column": (db) => failing(db, TABLE, "SELECT none FROM things"),
  "refuses an unknown column of an INSERT": (db) => failing(db, TABLE, "INSERT INTO things (none) VALUES (1)"),
  "refuses an unknown function": (db) => failing(db, "SELECT none(1)"),
  "refuses an ambiguous column": (db) => failing(db, TABLE, "SELECT name FROM things a JOIN things b"),
  "refuses too few values for a table": (db) => failing(db, TABLE, "INSERT INTO things VALUES (1)"),
  "refuses a table that exists": (db) => failing(db, TABLE, TABLE),
  "refuses an ON CONFLICT that fits no key": (db) =>
    failing(db, TABLE, "INSERT INTO things (name) VALUES ('a') ON CONFLICT (size) DO NOTHING"),
  "refuses too many values bound": (db) => bound(db, "SELECT ? AS a", "x", "y"),
  "refuses values bound where there are no parameters": (db) => bound(db, "SELECT 1 AS a", "x"),
  "refuses too few values bound": (db) => bound(db, "SELECT ? AS a, ? AS b", "x"),
  "refuses no values bound at all": (db) => errorOf(() => db.prepare("SELECT ? AS a").all()),
  "refuses a wrong number of values before a batch writes": async (db) => {
    await db.prepare(TABLE).run();
    const insert = db.prepare("INSERT INTO things (name) VALUES (?)");
    const error = await errorOf(() => db.batch([insert.bind("a"), insert.bind()]));
    return [error, await db.prepare("SELECT count(*) AS n FROM things").first("n")];
  },
  "takes 100 values": (db) => ask(db, `SELECT ${Array(100).fill("?").join(" + ")} AS sum`, ...Array(100).fill(1)),
  "refuses 101 values": (db) => bound(db, `SELECT ${Array(101).fill("?").join(", ")}`, ...Array(101).fill(1)),
  // Only the name of the code is compared, because the two builds of SQLite have different messages.
  "refuses a statement of 100,000 characters": async (db) =>
    (await failing(db, `SELECT '${"x".repeat(100_000)}'`)).message.split(": ").at(-1),
  "refuses an expression of more than 100 levels": (db) => failing(db, `SELECT ${"1 + ".repeat(101)}1`),
  "refuses a sixth SELECT in a row": async (db) => [
    (await db.prepare(Array(5).fill("SELECT 1").join(" UNION ALL ")).all()).results,
    await failing(db, Array(6).fill("SELECT 1").join(" UNION ALL ")),
  ],
  "refuses a table of more than 100 columns": (db) =>
    failing(db, `CREATE TABLE wide (${Array.from({ length: 101 }, (_, i) => `c${i}`).join(", ")})`),
  "refuses a LIKE pattern of more than 50 bytes": (db) => failing(db, `SELECT 'a' LIKE '${"a".repeat(51)}'`),
  "refuses a function of more than 127 arguments": (db) =>
    failing(db, `SELECT coalesce(${Array(128).fill(1).join(", ")})`),
  "refuses an empty statement": (db) => failing(db, ""),
  "refuses a statement of blanks": (db) => failing(db, " \n "),
  "refuses BEGIN": (db) => failing(db, "BEGIN"),
  "refuses BEGIN after a comment": (db) => failing(db, "/* a */ begin immediate"),
  "refuses COMMIT": (db) => failing(db, "COMMIT"),
  "refuses END": (db) => failing(db, "END"),
  "refuses ROLLBACK": (db) => failing(db, "ROLLBACK"),
  "refuses SAVEPOINT": (db) => failing(db, "SAVEPOINT a"),
  "refuses RELEASE": (db) => failing(db, "RELEASE a"),
  "refuses ATTACH": (db) => failing(db, "ATTACH ':memory:' AS other"),
  "refuses DETACH": (db) => failing(db, "DETACH main"),
  "refuses VACUUM": (db) => failing(db, "VACUUM"),
  "refuses CREATE TEMP TABLE": (db) => failing(db, "CREATE TEMP TABLE t (a)"),
};
