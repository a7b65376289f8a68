import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { beforeEach, describe, expect, it } from "vitest";
import { inOneBatch } from "../../../src/core/store/batch.ts";
import { statement } from "../../../src/core/store/statement.ts";
import { countingDb } from "../../support/counting-db.ts";
import { replacing } from "../../support/replacing.ts";

const things = sqliteTable("things_of_a_batch", {
  id: integer().primaryKey(),
  name: text().notNull(),
  tags: text({ mode: "json" }).$type<string[]>().notNull(),
});

const store = drizzle(env.DB);
const insert = statement<{ name: string }>((v) => sql`INSERT INTO ${things} (name, tags) VALUES (${v.name}, '["a"]')`);
const namesOf = statement<{ least: number }, { name: string }>(
  (v) => sql`SELECT name FROM ${things} WHERE id >= ${v.least} ORDER BY id`,
);

beforeEach(() =>
  env.DB.batch([
    env.DB.prepare("DROP TABLE IF EXISTS things_of_a_batch"),
    env.DB.prepare("CREATE TABLE things_of_a_batch (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tags TEXT NOT NULL)"),
  ]),
);

describe("a batch", () => {
  it("a batch runs queries of drizzle and compiled statements in order, and gives the rows of each by its name", async () => {
    const { db, trips } = countingDb(env.DB);
    const { first, second, renamed, all, names } = await inOneBatch(db, {
      first: insert(db, { name: "one" }),
      second: store
        .insert(things)
        .values({ name: "two", tags: ["b", "c"] })
        .returning({ id: things.id }),
      renamed: store.update(things).set({ name: "2" }).where(eq(things.name, "two")),
      all: store.select().from(things).orderBy(things.id),
      names: namesOf(db, { least: 2 }),
    });
    expect([first, second, renamed.meta.changes]).toEqual([[], [{ id: 2 }], 1]);
    expect(all).toEqual([
      { id: 1, name: "one", tags: ["a"] },
      { id: 2, name: "2", tags: ["b", "c"] },
    ]);
    expect(names).toEqual([{ name: "2" }]);
    expect(trips).toEqual({ batches: 1, single: 0 });
  });

  it("a batch leaves out undefined statements, and keeps lists and parts with names of their own", async () => {
    const { left, list, part } = await inOneBatch(env.DB, {
      left: undefined,
      list: ["x", "y"].map((name) => ({ written: insert(env.DB, { name }), read: namesOf(env.DB, { least: 1 }) })),
      part: { last: store.select({ name: things.name }).from(things).where(eq(things.id, 2)) },
    });
    expect(left).toBeUndefined();
    expect(list.map(({ read }) => read.map(({ name }) => name))).toEqual([["x"], ["x", "y"]]);
    expect(part.last).toEqual([{ name: "y" }]);
  });

  it("a batch stores nothing when one of its statements fails", async () => {
    const failing = store.insert(things).values({ id: 1, name: "again", tags: [] });
    const result = inOneBatch(env.DB, { written: insert(env.DB, { name: "one" }), failing });
    await expect(result).rejects.toThrow("UNIQUE constraint failed");
    expect(await store.select().from(things)).toEqual([]);
  });

  it.each([null, {}, [], [{ results: [] }]])("a batch is not taken as done when D1 answers %j", async (answer) => {
    const db = replacing(env.DB, { batch: async () => answer });
    const first = store.insert(things).values({ name: "one", tags: [] });
    await expect(inOneBatch(db, { first, second: first })).rejects.toThrow("an answer is missing");
  });
});
