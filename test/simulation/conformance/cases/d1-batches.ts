import { type Cases, errorOf } from "../case.ts";
import { batch, casesOf, seen } from "./ask.ts";

const THINGS = "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER CHECK (size > 0))";
const A = "INSERT INTO things (name) VALUES ('a')";
const B = "INSERT INTO things (name) VALUES ('b')";
const ALL = "SELECT * FROM things";
const OVERFLOW = "SELECT CASE WHEN 1 = 1 THEN abs(-9223372036854775808) END AS guard";

/** Batches after THINGS and `a`, each in one call. */
const SENT: Record<string, string> = {
  "each statement sees what the one before wrote": `${ALL} ;; ${B} RETURNING id, name ;; UPDATE things SET size = 3 ;;
    INSERT INTO things (name, size) SELECT name || size, size FROM things ;; DELETE FROM things WHERE id = 1 ;; ${ALL}`,
  "changes() tells of the last statement that wrote": `SELECT changes() AS n ;; UPDATE things SET size = 1 WHERE id = 9 ;;
    SELECT changes() AS none ;; INSERT INTO things (name) VALUES ('b'), ('c') RETURNING id ;; ${ALL} ;; CREATE TABLE other (a) ;;
    INSERT INTO things (name) SELECT 'noted ' || changes() WHERE changes() > 0 ;; SELECT changes() AS n ;;
    ${A} ON CONFLICT DO NOTHING ;; SELECT changes() AS none ;; ${A} ON CONFLICT DO UPDATE SET size = 1 ;;
    DELETE FROM things WHERE changes() = 1 ;; SELECT changes() AS n`,
  "last_insert_rowid() tells of the last row, but not WITHOUT ROWID": `INSERT INTO things (id, name) VALUES (41, 'b') ;;
    ${A} ON CONFLICT DO NOTHING ;; CREATE TABLE k (a PRIMARY KEY) WITHOUT ROWID ;; INSERT INTO k VALUES (7) ;;
    INSERT INTO things (name) SELECT 'after ' || last_insert_rowid() ;; ${ALL}`,
};

/** Batches that fail after THINGS and `a`. */
const FAILED: Record<string, string> = {
  "leaves nothing": `${B} ;; INSERT INTO things (name) VALUES ('c') ;; ${A}`,
  "undoes updates and deletes":
    "UPDATE things SET size = 9 ;; DELETE FROM things ;; INSERT INTO things (name) VALUES (NULL)",
  "undoes a new table": `CREATE TABLE other (a) ;; ${A}`,
  "by its syntax leaves nothing": `${B} ;; SELEC 1`,
  "halfway in a statement leaves nothing of it": "INSERT INTO things (name, size) VALUES ('b', 1), ('c', 0)",
  "by an overflow, on purpose, leaves nothing": `${B} ;; ${OVERFLOW}`,
  "by a foreign key leaves nothing": `CREATE TABLE parts (thing INTEGER REFERENCES things) ;; INSERT INTO parts VALUES (1), (NULL), (2)`,
  "by a row that is referred to leaves nothing": `CREATE TABLE parts (thing INTEGER REFERENCES things) ;;
    INSERT INTO parts VALUES (1) ;; DELETE FROM things`,
};

/** Rules of a batch, which is one transaction. */
export const batchCases: Cases<D1Database> = {
  ...casesOf("", SENT, (db, statements) => batch(db, THINGS, A, ...statements)),
  ...casesOf("a batch that fails ", FAILED, async (db, statements) => {
    await batch(db, THINGS, A);
    const tables = "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'";
    return [await errorOf(() => batch(db, ...statements)), await batch(db, ALL, tables), await batch(db, B, ALL)];
  }),
  "an empty batch is refused": (db) => errorOf(() => db.batch([])),
  "a statement may be in a batch twice, with values of its own": async (db) => {
    const insert = db.prepare("INSERT INTO things (name, size) VALUES (?, ?) RETURNING *");
    return (await db.batch([db.prepare(THINGS), insert.bind("a", 1), insert.bind("b", 2)])).map(seen);
  },
  "a wrong number of values fails a batch before it writes": async (db) => {
    await batch(db, THINGS);
    const insert = db.prepare("INSERT INTO things (name) VALUES (?)");
    return [await errorOf(() => db.batch([insert.bind("a"), insert.bind()])), await batch(db, ALL)];
  },
  "last_insert_rowid() outlives its call, and a rollback": async (db) => [
    await batch(db, THINGS, "INSERT INTO things (id, name) VALUES (41, 'a')"),
    await batch(db, "SELECT last_insert_rowid() AS id"),
    await errorOf(() => batch(db, "INSERT INTO things (id, name) VALUES (99, 'b')", OVERFLOW)),
    await batch(db, "SELECT last_insert_rowid() AS id", B, ALL),
  ],
  // The error is not compared, because the local D1 of workerd restarts.
  "a deferred foreign key is checked at the commit": async (db) => {
    const [part, thing] = ["INSERT INTO parts VALUES (1)", "INSERT INTO things (id, name) VALUES (1, 'a')"];
    await batch(db, THINGS, "CREATE TABLE parts (thing INTEGER REFERENCES things DEFERRABLE INITIALLY DEFERRED)");
    const made = await batch(db, part, thing, ALL);
    await errorOf(() => batch(db, "INSERT INTO parts VALUES (9)", B));
    return [made, (await db.prepare(ALL).all()).results];
  },
  "calls that are sent at once are served one after the other": async (db) => {
    await batch(db, THINGS);
    const counted = "SELECT count(*) AS n FROM things";
    return Promise.all(
      ["a", "b", "c"].map((name) => batch(db, `INSERT INTO things (name) VALUES ('${name}')`, counted)),
    );
  },
};
