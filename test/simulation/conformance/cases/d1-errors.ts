import { type Cases, errorOf } from "../case.ts";
import { ask, batch, casesOf, statementsOf } from "./ask.ts";

const TABLE = `CREATE TABLE things (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER CONSTRAINT positive CHECK (size > 0), owner INTEGER REFERENCES things
)`;
const list = (count: number, each: (i: number) => unknown = () => 1) =>
  Array.from({ length: count }, (_, i) => each(i)).join(", ");

/** Statements that fail where there are `things`. The name says what is wrong. */
const REFUSED: Record<string, string> = {
  "a broken UNIQUE": "INSERT INTO things (name) VALUES ('a'), ('a')",
  "a broken PRIMARY KEY": "INSERT INTO things (id, name) VALUES (1, 'a'), (1, 'b')",
  "a broken NOT NULL": "INSERT INTO things (name) VALUES (NULL)",
  "a broken CHECK": "INSERT INTO things (name, size) VALUES ('a', 0)",
  "a broken FOREIGN KEY": "INSERT INTO things (name, owner) VALUES ('a', 9)",
  "a text as a rowid": "INSERT INTO things (id, name) VALUES ('x', 'a')",
  "an integer overflow": "SELECT abs(-9223372036854775808)",
  "malformed JSON": "SELECT json_each.value FROM json_each('[1,')",
  "a malformed JSON path": "SELECT json_extract('{}', 'a')",
  "a syntax error": "SELEC 1",
  "an incomplete statement": "SELECT 1 +",
  "an unknown character": "SELECT 1 # 2",
  "an unknown table": "SELECT * FROM none",
  "an unknown column": "SELECT none FROM things",
  "an unknown function": "SELECT none(1)",
  "an ambiguous column": "SELECT name FROM things a JOIN things b",
  "too few values for a table": "INSERT INTO things VALUES (1)",
  "a table that exists": TABLE,
  "an ON CONFLICT that fits no key": "INSERT INTO things (name) VALUES ('a') ON CONFLICT (size) DO NOTHING",
  "an expression of more than 100 levels": `SELECT ${"1 + ".repeat(101)}1`,
  "a sixth SELECT in a row": Array(6).fill("SELECT 1").join(" UNION ALL "),
  "a table of more than 100 columns": `CREATE TABLE wide (${list(101, (i) => `c${i}`)})`,
  "a LIKE pattern of more than 50 bytes": `SELECT 'a' LIKE '${"a".repeat(51)}'`,
  "a function of more than 127 arguments": `SELECT coalesce(${list(128)})`,
  "an empty statement": " \n ",
  "a BEGIN after a comment": "/* a */ begin immediate",
};

/** Statements that D1 refuses by their first words. */
const FORBIDDEN =
  "COMMIT ;; END ;; ROLLBACK ;; SAVEPOINT a ;; RELEASE a ;; ATTACH ':memory:' AS b ;; DETACH main ;; VACUUM ;; CREATE TEMP TABLE t (a)";

/** Statements of which the last one fails. */
const REFUSED_LATER: Record<string, string> = {
  "a key WITHOUT ROWID":
    "CREATE TABLE k (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID ;; INSERT INTO k VALUES (1, 2), (1, 2)",
  "an index of an expression": `CREATE TABLE p (a) ;; CREATE UNIQUE INDEX one ON p (lower(a)) ;;
    INSERT INTO p VALUES ('x'), ('X')`,
  "a value of another type": "CREATE TABLE s (a INTEGER) STRICT ;; INSERT INTO s VALUES ('x')",
  "the words of a trigger": `CREATE TABLE p (a) ;;
    CREATE TRIGGER t BEFORE INSERT ON p BEGIN SELECT RAISE(ABORT, 'never: here'); END ;; INSERT INTO p VALUES (1)`,
};

/** D1's errors: SQLite's message between `D1_ERROR: ` and the name of SQLite's code. */
export const errorCases: Cases<D1Database> = {
  ...casesOf("refuses ", REFUSED, async (db, [sql = ""]) => {
    await ask(db, TABLE);
    return errorOf(() => ask(db, sql));
  }),
  "refuses what D1 forbids": (db) => Promise.all(statementsOf(FORBIDDEN).map((sql) => errorOf(() => ask(db, sql)))),
  ...casesOf("refuses for ", REFUSED_LATER, async (db, statements) => {
    await batch(db, ...statements.slice(0, -1));
    return errorOf(() => ask(db, statements.at(-1) ?? ""));
  }),
  "every way to send a statement gives the same error": (db) => {
    const statement = db.prepare("SELECT * FROM none");
    const ways = [() => statement.all(), () => statement.run(), () => statement.first(), () => statement.raw()];
    return Promise.all([...ways, () => db.batch([statement])].map(errorOf));
  },
  "a wrong number of values is refused": (db) =>
    Promise.all(
      [["SELECT ? AS a", "x", "y"], ["SELECT 1 AS a", "x"], ["SELECT ? AS a, ? AS b", "x"], ["SELECT ? AS a"]].map(
        ([sql = "", ...values]) =>
          errorOf(() =>
            db
              .prepare(sql)
              .bind(...values)
              .all(),
          ),
      ),
    ),
  "100 values may be bound, 101 not; five SELECTs may be in a row": async (db) => [
    await ask(db, `SELECT ${Array(100).fill("?").join(" + ")} AS sum`, ...Array(100).fill(1)),
    await errorOf(() => ask(db, `SELECT ${list(101, () => "?")}`, ...Array(101).fill(1))),
    await ask(db, Array(5).fill("SELECT 1").join(" UNION ALL ")),
  ],
  // Only the name of the code is compared, because the two builds of SQLite have different messages.
  "a statement of 100,000 characters is refused": async (db) =>
    (await errorOf(() => ask(db, `SELECT '${"x".repeat(100_000)}'`))).message.split(": ").at(-1),
};
