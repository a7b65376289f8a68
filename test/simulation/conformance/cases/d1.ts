import { type Cases, errorOf } from "../case.ts";
import { batch, comparable, runSql, type Tables } from "./tables.ts";

const THINGS = `CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
  size INTEGER CONSTRAINT positive CHECK (size > 0), owner INTEGER REFERENCES things)`;
const A = "INSERT INTO things (name) VALUES ('a')";
const B = "INSERT INTO things (name) VALUES ('b')";
const ALL = "SELECT * FROM things";
const OVERFLOW = "SELECT CASE WHEN 1 = 1 THEN abs(-9223372036854775808) END AS guard";

const TEXTS = [null, "王伟 🙂 é", "", " e\u0301\t\r\n ", "\ufeffa", "a\0b"];
const NUMBERS = [true, false, 1, -0, 7.25, 0.1, 5e-324, 1.7976931348623157e308, 1e21];
const STORED = [7, 7.25, "007", "a\0b", Number.MAX_SAFE_INTEGER, 2 ** 53 + 2, 2 ** 64, true];

/** Expressions in which two builds of SQLite might differ. */
const COMPUTED = [
  `SELECT key, value, type, atom, fullkey FROM json_each('[7, "a", null, true, 2.5, [1], {"a": 1}, 9007199254740993]')`,
  `SELECT j ->> 'a' AS a, j -> 'a' AS b, j ->> 'o' AS o, j ->> 'none' AS n, j ->> '$.o.x' AS x
    FROM (SELECT '{"a":"t","o":{"x":true}}' AS j)`,
  "SELECT json_object('b', 1.0, 'a', NULL, 'n', 7, 't', 'x\"y', 'j', json('[1]')) AS json",
  `SELECT json_group_array(value) AS some, json_group_array(value) FILTER (WHERE false) AS none FROM json_each('[3,"a",null]')`,
  "SELECT (1, 'b') > (1, 'a') AS a, (2, NULL) > (1, 1) AS b, (1, NULL) > (1, 1) AS c",
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i * 2 FROM n WHERE i < 999) SELECT max(i) AS i, count(*) AS n FROM n",
  "SELECT max(1, NULL) AS a, coalesce(NULL, 3) AS b, NULL <> 1 AS c, -7 / 2 AS d, 1 / 0 AS e, 9223372036854775807 + 1 AS f",
  `SELECT value FROM json_each('["b", "B", "é", "a", "🙂", "", "1", 2, null, 1]') ORDER BY value`,
  "SELECT 'ABC' LIKE 'a_c' AS a, 'É' LIKE 'é' AS b, lower('ÄB') AS c, substr('🙂é王x', 2, 1) AS d, length('🙂é王x') AS e",
  "SELECT 9007199254740993 AS a, 9223372036854775807 AS b, -0.0 AS c",
  'SELECT "a", "b" FROM (SELECT 1 AS a)',
];

/** The statements of a batch, after {@link A}. */
const WRITES = [
  "UPDATE things SET size = 1 WHERE id = 9",
  "SELECT changes() AS none",
  "INSERT INTO things (name) VALUES ('b'), ('c') RETURNING id",
  ALL,
  "INSERT INTO things (name) SELECT 'noted ' || changes() WHERE changes() > 0",
  `${A} ON CONFLICT DO NOTHING`,
  "SELECT changes() AS none",
  `${A} ON CONFLICT DO UPDATE SET size = 1`,
  "DELETE FROM things WHERE changes() = 1",
  "SELECT changes() AS n",
];

const list = (count: number, each: unknown = 1) => Array(count).fill(each).join(", ");

/** Statements that fail on {@link THINGS}, by what is wrong with them. */
const REFUSED: Record<string, string> = {
  "a broken UNIQUE": "INSERT INTO things (name) VALUES ('x'), ('x')",
  "a broken PRIMARY KEY": "INSERT INTO things (id, name) VALUES (9, 'x'), (9, 'y')",
  "a broken NOT NULL": "INSERT INTO things (name) VALUES (NULL)",
  "a broken CHECK halfway": "INSERT INTO things (name, size) VALUES ('x', 1), ('y', 0)",
  "a broken FOREIGN KEY": "INSERT INTO things (name, owner) VALUES ('x', NULL), ('y', 9)",
  "an overflow": OVERFLOW,
  "malformed JSON": "SELECT json_each.value FROM json_each('[1,')",
  "a syntax error": "SELECT 1 +",
  "an unknown table": "SELECT * FROM none",
  "an unknown column": "SELECT none FROM things",
  "a table without the column": "INSERT INTO things (none) VALUES (1)",
  "an expression of more than 100 levels": `SELECT ${"1 + ".repeat(101)}1`,
  "a sixth SELECT in a row": Array(6).fill("SELECT 1").join(" UNION ALL "),
  "a LIKE pattern of more than 50 bytes": `SELECT 'a' LIKE '${"a".repeat(51)}'`,
  "a function of more than 127 arguments": `SELECT coalesce(${list(128)})`,
  "a missing value": "SELECT ? AS a",
};

/** Answers, batches and errors that neither the random batches nor the service's statements show. */
export const d1Cases: Cases<Tables> = {
  "a bound value comes back as JSON would return it": ({ db }) =>
    Promise.all(
      [...TEXTS, ...NUMBERS].map((value) => runSql(db, "SELECT a, typeof(a) AS type FROM (SELECT ? AS a)", value)),
    ),
  "a stored value is converted to the type of its column": async ({ db, create }) => {
    await create("CREATE TABLE kept (i INTEGER, r REAL, t TEXT, n NUMERIC, x)");
    const types = ["i", "r", "t", "n", "x"].map((name) => `typeof(${name}) AS t${name}`).join(", ");
    const insert = `INSERT INTO kept VALUES (?, ?, ?, ?, ?) RETURNING *, ${types}, length(t) AS length`;
    const answers: unknown[] = [];
    for (const value of STORED) answers.push(await runSql(db, insert, ...Array(5).fill(value)));
    return answers;
  },
  "an SQL expression has the same value": ({ db }) => Promise.all(COMPUTED.map((sql) => runSql(db, sql))),
  "all() and run() return rows as objects, with the last of columns of one name, and raw() returns rows as lists":
    async ({ db }) => {
      const some = db.prepare(
        "SELECT 1 AS a, 2 AS b, 3 AS a, 4 AS '1', 1 + 1, (SELECT 3) UNION ALL SELECT 5, 6, 7, 8, 9, 0",
      );
      const none = db.prepare("SELECT 1 AS a WHERE false");
      return [
        comparable(await some.all()),
        comparable(await some.run()),
        await some.raw(),
        comparable(await none.all()),
        await none.raw(),
      ];
    },
  "size_after is the database's size in whole pages": async ({ db, create }) => {
    const first = (await db.prepare("SELECT 1").run()).meta.size_after;
    await create(THINGS);
    const { meta } = await db.prepare(A).run();
    return [first % 4_096, meta.size_after % 4_096, meta.size_after > first];
  },
  "changes() counts the rows of the last statement that wrote": async ({ db, create }) => {
    await create(THINGS);
    return batch(db, A, ...WRITES);
  },
  ...Object.fromEntries(
    Object.entries(REFUSED).map(([name, sql]) => [
      `a batch with ${name} is refused and changes nothing`,
      async ({ db, create }: Tables) => {
        await create(THINGS);
        await batch(db, A);
        return [await errorOf(() => batch(db, B, sql)), await batch(db, ALL), await batch(db, B, ALL)];
      },
    ]),
  ),
  "all(), run() and raw() reject with the same error": ({ db }) => {
    const statement = db.prepare("SELECT * FROM none");
    return Promise.all([() => statement.all(), () => statement.run(), () => statement.raw()].map(errorOf));
  },
  "a statement takes 100 bound values but not 101, and five SELECTs in a row": async ({ db }) => [
    await runSql(db, `SELECT ${Array(100).fill("?").join(" + ")} AS sum`, ...Array(100).fill(1)),
    await errorOf(() => runSql(db, `SELECT ${list(101, "?")}`, ...Array(101).fill(1))),
    await runSql(db, Array(5).fill("SELECT 1").join(" UNION ALL ")),
  ],
  // Only the name of the error code is compared, because the two builds of SQLite have different messages.
  "a statement of 100,000 characters is refused": async ({ db }) =>
    (await errorOf(() => runSql(db, `SELECT '${"x".repeat(100_000)}'`))).message.split(": ").at(-1),
  "two batches that are sent at the same time run one after the other": async ({ db, create }) => {
    await create(THINGS);
    return Promise.all([A, B].map((insert) => batch(db, insert, "SELECT count(*) AS n FROM things")));
  },
};
