import { type Cases, errorOf } from "../case.ts";

/** The value as it comes back, and its type in SQLite. */
const echo = (db: D1Database, value: unknown) =>
  db.prepare("SELECT ?1 AS value, typeof(?1) AS type").bind(value).first();

const refused = (db: D1Database, value: unknown) => errorOf(() => db.prepare("SELECT ?").bind(value));

/** Stores one value in columns of several types and reads it back. */
async function stored(db: D1Database, value: unknown) {
  await db.prepare("CREATE TABLE kept (i INTEGER, r REAL, t TEXT, n NUMERIC, x)").run();
  await db.prepare("INSERT INTO kept VALUES (?1, ?1, ?1, ?1, ?1)").bind(value).run();
  return db
    .prepare("SELECT *, typeof(i) AS ti, typeof(r) AS tr, typeof(t) AS tt, typeof(n) AS tn, typeof(x) AS tx FROM kept")
    .first();
}

/** Rules of values: what can be bound, and how SQLite's values come back. */
export const valueCases: Cases<D1Database> = {
  "null is bound as NULL": (db) => echo(db, null),
  "text is bound as text": (db) => echo(db, "王伟 🙂 é"),
  "empty text is not NULL": (db) => echo(db, ""),
  "text is neither trimmed nor normalised": (db) => echo(db, " e\u0301\t\r\n "),
  "text keeps a NUL, but SQL's length() stops at it": (db) =>
    db.prepare("SELECT ?1 AS value, length(?1) AS length, length(CAST(?1 AS BLOB)) AS bytes").bind("a\0b").first(),
  "a stored text keeps a NUL": (db) => stored(db, "a\0b"),
  "a byte order mark stays": (db) => echo(db, "\ufeffa"),
  "a whole number is bound as a real": (db) => echo(db, 1),
  "a division of bound whole numbers has a fraction": (db) => db.prepare("SELECT ? / ? AS value").bind(7, 2).first(),
  "a bound number is a real in a CAST to text": (db) => db.prepare("SELECT CAST(? AS TEXT) AS value").bind(7).first(),
  "a bound number becomes what its column is": (db) => stored(db, 7),
  "a number with a fraction becomes what its column is": (db) => stored(db, 7.25),
  "digits as text become what their column is": (db) => stored(db, "007"),
  "2^53 - 1 is kept exactly": (db) => stored(db, Number.MAX_SAFE_INTEGER),
  "a number beyond 2^53 is kept as near as a number can be": (db) => stored(db, 2 ** 53 + 2),
  "a number beyond 2^63 is not an integer": (db) => stored(db, 2 ** 64),
  "an integer beyond 2^53 is read as the nearest number": (db) =>
    db.prepare("SELECT 9007199254740993 AS a, 9223372036854775807 AS b, -9223372036854775808 AS c").first(),
  "small and large reals come back digit for digit": (db) =>
    db.prepare("SELECT ? AS a, ? AS b, ? AS c, ? AS d").bind(0.1, 5e-324, 1.7976931348623157e308, 1e21).first(),
  "-0 comes back as 0": (db) => db.prepare("SELECT ? AS bound, -0.0 AS written").bind(-0).first(),
  "NaN and infinity are bound as NULL": (db) =>
    Promise.all([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((value) => echo(db, value))),
  "infinity is read as null": (db) => db.prepare("SELECT 9e999 AS a, -9e999 AS b").first(),
  "true and false are bound as 1 and 0": (db) => Promise.all([echo(db, true), echo(db, false)]),
  "a comparison gives 1, 0 or null": (db) => db.prepare("SELECT 1 = 1 AS a, 1 = 2 AS b, 1 = NULL AS c").first(),
  "undefined cannot be bound": (db) => refused(db, undefined),
  "a bigint cannot be bound": (db) => refused(db, 1n),
  "an object cannot be bound": (db) => refused(db, { a: 1 }),
  "a Date cannot be bound": (db) => errorOf(() => db.prepare("SELECT ?").bind(new Date(0))).then(({ name }) => name),
  "a function cannot be bound": (db) => refused(db, "f".at),
  "a list of texts cannot be bound": (db) => refused(db, ["a", "b"]),
  "a list of numbers that are no bytes cannot be bound": (db) => refused(db, [1, 256]),
  "bytes are bound as a blob and read as a list of bytes": (db) =>
    Promise.all([echo(db, Uint8Array.of(0, 255)), echo(db, Uint8Array.of(1, 2).buffer), echo(db, [3, 4])]),
  "a view binds its own bytes only": (db) => echo(db, Uint8Array.of(1, 2, 3, 4).subarray(1, 3)),
  "an empty blob is not NULL": (db) => echo(db, new Uint8Array()),
  "a blob is read as a list of bytes": (db) => db.prepare("SELECT x'00ff7f' AS value, zeroblob(2) AS zeros").first(),
  "bind leaves the statement as it was": async (db) => {
    const statement = db.prepare("SELECT ? AS value");
    const [one, two] = [statement.bind("one"), statement.bind("two")];
    return [await one.first(), await two.first(), await one.bind("three").first(), await one.first()];
  },
  "numbered parameters may be used twice and in any order": (db) =>
    db.prepare("SELECT ?2 AS a, ?1 AS b, ?2 AS c").bind("x", "y").first(),
  "a plain parameter after a numbered one takes the next number": (db) =>
    db.prepare("SELECT ?2 AS a, ? AS b, ?1 AS c").bind("x", "y", "z").first(),
};
