import { Chance } from "../../machine/chance.ts";
import { type Cases, errorOf } from "../case.ts";
import { comparable, batch as sent, type Tables } from "./tables.ts";

const SCHEMA = [
  "CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER CHECK (size <> 5))",
  `CREATE TABLE things (owner INTEGER NOT NULL REFERENCES owners, name TEXT NOT NULL, note TEXT, size NUMERIC,
    PRIMARY KEY (owner, name)) WITHOUT ROWID`,
];

/**
 * Statements over few ids and names, so that they conflict: four batches in ten fail. Each name that begins with `?`
 * gets a random value.
 */
const STATEMENTS = [
  "INSERT INTO owners (name, size) VALUES (?name, ?size)",
  "INSERT INTO owners (id, name) VALUES (?id, ?name) ON CONFLICT DO NOTHING",
  "INSERT INTO owners (id, name, size) VALUES (?id, ?name, ?size) ON CONFLICT (name) DO UPDATE SET size = excluded.size",
  "INSERT OR REPLACE INTO things VALUES (?id, ?name, ?note, ?size) RETURNING note",
  "INSERT INTO things SELECT id, ?name, ?note, size FROM owners WHERE size > ?size ON CONFLICT DO NOTHING RETURNING *",
  "INSERT INTO things SELECT ?id, value, NULL, changes() FROM json_each(?list) WHERE changes() > 0 ON CONFLICT DO NOTHING",
  "UPDATE owners SET size = coalesce(size, 0) + ?size WHERE id >= ?id",
  "UPDATE things SET note = ?note, name = ?name WHERE (owner, name) > (?id, ?name)",
  "UPDATE things SET size = last_insert_rowid() WHERE note IS ?note RETURNING owner, name, size",
  "DELETE FROM things WHERE owner = ?id",
  "DELETE FROM things WHERE size IS NULL OR name = ?name RETURNING *",
  "DELETE FROM owners WHERE id = ?id",
  "SELECT changes() AS changes, last_insert_rowid() AS id",
  "SELECT owner, count(*) AS n, group_concat(name, ',') AS names, sum(size) AS sum FROM things GROUP BY owner",
  "SELECT * FROM owners LEFT JOIN things ON things.owner = owners.id ORDER BY owners.id, things.name LIMIT 5",
  "WITH most(id) AS (SELECT max(id) FROM owners) INSERT INTO owners (name) SELECT ?name || id FROM most RETURNING id",
];

const VALUES: Record<string, (chance: Chance) => unknown> = {
  id: (chance) => chance.integer(1, 6),
  name: (chance) => chance.one(["a", "A", "b", "é", "🙂", "a'b", "", "10"]),
  note: (chance) => chance.one([null, "", "x", "a\0b", "7", "7.0", 7, 2.5, true]),
  size: (chance) => chance.one([null, 0, -1, 1, 5, 1.5, "2", 2 ** 53, 1e300]),
  list: (chance) => JSON.stringify(chance.some(["a", "b", 3, null, 2.5])),
};

function drawStatement(chance: Chance, db: D1Database): D1PreparedStatement {
  const values: unknown[] = [];
  const sql = chance.one(STATEMENTS).replace(/\?(\w+)/g, (_, name: string) => {
    values.push(VALUES[name]?.(chance));
    return "?";
  });
  return db.prepare(sql).bind(...values);
}

/** The answer or the error of a batch, and the rows after it. */
async function runBatch(db: D1Database, batch: D1PreparedStatement[]) {
  const results = db.batch(batch).then((results) => results.map(comparable));
  const answer = await results.catch(() => errorOf(() => results));
  return { answer, left: await sent(db, "SELECT * FROM owners", "SELECT * FROM things") };
}

/** Begins each batch. Without it, changes() would count rows that workerd itself writes between two calls. */
const FIRST = "DELETE FROM things WHERE owner = 0";

/** Batches from a seed, so that both sides get the same batches. */
const randomBatches =
  (seed: number) =>
  async ({ db, create }: Tables) => {
    const chance = new Chance(seed);
    await create(...SCHEMA);
    const answers: unknown[] = [];
    for (let i = 0; i < 100; i++) {
      const batch = Array.from({ length: chance.integer(1, 6) }, () => drawStatement(chance, db));
      answers.push(await runBatch(db, [db.prepare(FIRST), ...batch]));
    }
    return answers;
  };

/** Random batches, for cases that nobody thought of. */
export const randomCases: Cases<Tables> = Object.fromEntries(
  [1, 2, 3].map((seed) => [`100 random batches, seed ${seed}`, randomBatches(seed)]),
);
