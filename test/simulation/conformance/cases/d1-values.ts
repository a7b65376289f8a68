import { type Cases, errorOf } from "../case.ts";
import { ask } from "./ask.ts";

const TEXTS = [null, "王伟 🙂 é", "", " e\u0301\t\r\n ", "\ufeffa", "a\0b", true, false];
const NUMBERS = [1, -0, 7.25, 0.1, 5e-324, 1.7976931348623157e308, 1e21, 0 / 0, 1 / 0];
const BYTES = [Uint8Array.of(0, 255), Uint8Array.of(1, 2).buffer, [3, 4], Uint8Array.of(1, 2, 3).subarray(1), []];
const STORED = [7, 7.25, "007", "a\0b", Number.MAX_SAFE_INTEGER, 2 ** 53 + 2, 2 ** 64, true, Uint8Array.of(1)];
const UNBINDABLE = [undefined, 1n, { a: 1 }, "f".at, ["a", "b"], [1, 256]];

const echoed = (db: D1Database, values: unknown[]) =>
  Promise.all(values.map((value) => ask(db, "SELECT ?1 AS value, typeof(?1) AS type", value)));

/** Rules of values: what can be bound, and how SQLite's values come back. */
export const valueCases: Cases<D1Database> = {
  "texts and truths come back": (db) => echoed(db, TEXTS),
  "numbers come back as JSON brings them": (db) => echoed(db, NUMBERS),
  "bytes come back as lists": (db) => echoed(db, BYTES),
  "what is stored becomes what its column is": async (db) => {
    await ask(db, "CREATE TABLE kept (i INTEGER, r REAL, t TEXT, n NUMERIC, x)");
    const types = ["i", "r", "t", "n", "x"].map((name) => `typeof(${name}) AS t${name}`).join(", ");
    const insert = `INSERT INTO kept VALUES (?1, ?1, ?1, ?1, ?1) RETURNING *, ${types}, length(t) AS length`;
    const answers: unknown[] = [];
    for (const value of STORED) answers.push(await ask(db, insert, value));
    return answers;
  },
  "what is computed from bound values": (db) =>
    ask(db, "SELECT ?1 / ?2 AS a, CAST(?1 AS TEXT) AS b, length(?3) AS c, ?1 = ?2 AS d, ?1 = NULL AS e", 7, 2, "a\0b"),
  "values that JSON does not have": (db) =>
    ask(db, "SELECT 9007199254740993 AS a, 9223372036854775807 AS b, -0.0 AS c, 9e999 AS d, x'00ff7f' AS e"),
  "values that cannot be bound": (db) =>
    Promise.all(UNBINDABLE.map((value) => errorOf(() => db.prepare("SELECT ?").bind(value)))),
  "bind leaves the statement as it was": async (db) => {
    const statement = db.prepare("SELECT ? AS value");
    const [one, two] = [statement.bind("one"), statement.bind("two")];
    return [await one.first(), await two.first(), await one.bind("three").first(), await one.first()];
  },
  "numbered parameters may be used twice; a plain one takes the next number": (db) =>
    ask(db, "SELECT ?2 AS a, ? AS b, ?1 AS c, ?2 AS d", "x", "y", "z"),
};
