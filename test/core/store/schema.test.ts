import { env } from "cloudflare:workers";
import { getTableConfig, type SQLiteColumn } from "drizzle-orm/sqlite-core";
import { describe, expect, it } from "vitest";
import numbers from "../../../docs/numbers.json";
import { countingDb } from "../../support/counting-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { eventsOn, newWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { TABLES } from "../../support/tables.ts";
import { World } from "../../support/world.ts";

/** drizzle-kit cannot express WITHOUT ROWID and loses it silently when it rebuilds a table, so this list protects it. */
const WITHOUT_ROWID = [
  "admin_tokens",
  "agents",
  "app_routes",
  "apps",
  "console_forms",
  "console_sessions",
  "counters",
  "customer_hash_keys",
  "customers",
  "deliveries",
  "erasure_receipts",
  "erasures",
  "events",
  "home_metrics",
  "idempotency_keys",
  "jobs",
  "messages",
  "nonces",
  "participants",
  "people",
  "refusals",
  "sessions",
  "settlings",
  "usage",
  "usage_days",
  "webhooks",
];

/** Tables with at most one row for each site. */
const ONE_ROW_A_SITE = ["home_sites", "site_deletions", "counted_events", "site_metrics"];

/** Tables of D1 itself and of the migrations. */
const NOT_OURS = /^(sqlite_|_cf_|d1_migrations$)/;

async function rows<Row>(sql: string, ...values: string[]): Promise<Row[]> {
  return (
    await env.DB.prepare(sql)
      .bind(...values)
      .all<Row>()
  ).results;
}

async function storedTables(): Promise<string[]> {
  const tables = await rows<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  return tables.map(({ name }) => name).filter((name) => !NOT_OURS.test(name));
}

const names = (columns: { name: string }[]) => columns.map(({ name }) => name);
const byName = <T extends { name: string }>(list: T[]) => list.sort((a, b) => (a.name < b.name ? -1 : 1));

/** A table as the schema describes it. */
function declaredTable(config: (typeof TABLES)[number]) {
  const { columns, primaryKeys, indexes, foreignKeys, uniqueConstraints, checks } = config;
  const single = columns.filter((column) => column.primary);
  const key = names(single.length > 0 ? single : (primaryKeys[0]?.columns ?? []));
  return {
    columns: columns.map((column) => ({
      name: column.name,
      type: column.getSQLType(),
      notNull: column.notNull,
      default: column.default === undefined ? null : String(column.default),
      keyPosition: key.indexOf(column.name) + 1,
    })),
    indexes: byName(
      indexes.map(({ config: index }) => ({
        name: index.name,
        unique: index.unique,
        partial: index.where !== undefined,
        columns: names(index.columns as SQLiteColumn[]),
      })),
    ),
    foreignKeys: foreignKeys.map((foreignKey) => {
      const { columns: from, foreignTable, foreignColumns } = foreignKey.reference();
      return { table: getTableConfig(foreignTable).name, from: names(from), to: names(foreignColumns) };
    }),
    // SQLite lists these rows, but this test does not compare them, so there must be none.
    uncompared: [...uniqueConstraints, ...checks, ...columns.filter((column) => column.isUnique)],
  };
}

/** A table as D1 describes it after all migrations. */
async function storedTable(table: string) {
  const columns = await rows<{ name: string; type: string; notnull: number; dflt_value: unknown; pk: number }>(
    `SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?) ORDER BY cid`,
    table,
  );
  const indexes = await rows<{ name: string; unique: number; partial: number }>(
    `SELECT name, "unique", partial FROM pragma_index_list(?) WHERE origin <> 'pk'`,
    table,
  );
  const indexed = async (index: string) =>
    names(await rows<{ name: string }>("SELECT name FROM pragma_index_info(?) ORDER BY seqno", index));
  const references = await rows<{ id: number; table: string; from: string; to: string }>(
    `SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq`,
    table,
  );
  const foreignKeys = [...Map.groupBy(references, ({ id }) => id).values()];
  return {
    columns: columns.map(({ name, type, notnull, dflt_value, pk }) => ({
      name,
      type: type.toLowerCase(),
      notNull: notnull === 1,
      default: dflt_value,
      keyPosition: pk,
    })),
    indexes: byName(
      await Promise.all(
        indexes.map(async ({ name, unique, partial }) => ({
          name,
          unique: unique === 1,
          partial: partial === 1,
          columns: await indexed(name),
        })),
      ),
    ),
    foreignKeys: foreignKeys.map((columns) => ({
      table: columns[0]?.table ?? "",
      from: columns.map(({ from }) => from),
      to: columns.map(({ to }) => to),
    })),
    uncompared: [],
  };
}

describe("the migrated database", () => {
  it("the migrated database has the schema's tables and no other", async () => {
    expect(await storedTables()).toEqual(names(byName(TABLES)));
  });

  it.each(TABLES.map((config) => [config.name, config] as const))(
    "the migrated database has the table %s as the schema says",
    async (name, config) => {
      expect(await storedTable(name)).toEqual(declaredTable(config));
    },
  );

  it("the tables WITHOUT ROWID are exactly those of the list", async () => {
    const without = await rows<{ name: string }>("SELECT name FROM pragma_table_list WHERE wr = 1 ORDER BY name");
    expect(names(without).filter((name) => !NOT_OURS.test(name))).toEqual(WITHOUT_ROWID);
  });

  it("every other table has an integer rowid as key, and no table has AUTOINCREMENT", async () => {
    for (const table of (await storedTables()).filter((name) => !WITHOUT_ROWID.includes(name))) {
      const { columns } = await storedTable(table);
      expect(columns.filter(({ keyPosition }) => keyPosition > 0)).toMatchObject([
        { name: ONE_ROW_A_SITE.includes(table) ? "site_id" : "id", type: "integer" },
      ]);
    }
    const sql = await rows<{ sql: string }>("SELECT sql FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'");
    expect(sql.filter(({ sql: text }) => !/d1_migrations|_cf_/.test(text))).toEqual([]);
  });

  it("no table of a home refers to the directory or to apps, and no table of the directory refers to a home", async () => {
    const DIRECTORY = ["sites", "app_routes", "console_sessions", "console_forms"];
    for (const { name } of TABLES) {
      const others = (await storedTable(name)).foreignKeys.map(({ table }) => table);
      for (const other of others) {
        expect([name, other, DIRECTORY.includes(other)]).toEqual([name, other, DIRECTORY.includes(name)]);
        expect(other).not.toBe("apps");
      }
    }
  });

  it("the site comes first in every key of a site's own data", async () => {
    const islands = [
      "agents",
      "apps",
      "counters",
      "customers",
      "erasures",
      "idempotency_keys",
      "messages",
      "nonces",
      "participants",
      "sessions",
      "usage",
      "usage_days",
    ];
    for (const table of islands) {
      const [first] = (await storedTable(table)).columns.filter(({ keyPosition }) => keyPosition === 1);
      expect([table, first?.name]).toEqual([table, "site_id"]);
    }
  });
});

const { results } = numbers;

describe("the rows that a create with two agents writes", () => {
  it.each<[string, string, number, ((world: World) => Promise<unknown>) | undefined, string?]>([
    ["main", "no events", results["rows.written"].value, undefined],
    ["apac", "no events", results["rows.written"].value, undefined],
    ["main", "no events, under Idempotency-Keys", results["rows.keyed"].value, undefined, "key"],
    ["main", "events", results["rows.event"].value, eventsOn],
    ["apac", "events and a webhook", results["rows.webhook"].value, newWebhook],
  ])(
    "a create with two agents in %s with %s writes %i rows in one batch, and no more for a known customer",
    async (...args) => {
      const [home, , statedRows, prepare = async () => {}, key] = args;
      const rowCounts: number[] = [];
      const db = databaseOf(home);
      const batch = async (statements: D1PreparedStatement[]) => {
        const results = await db.batch(statements);
        rowCounts.push(results.reduce((sum, { meta }) => sum + meta.rows_written, 0));
        return results;
      };
      const binding = home === "main" ? "DB" : "HOME_APAC";
      const world = await World.create({ [binding]: replacing(db, { batch }) }, home);
      await prepare(world);
      for (const call of [1, 2])
        await world.create({}, key === undefined ? {} : { "idempotency-key": `${key}-${call}` });
      const { customers, sessions, participants } = await world.stored();
      expect([customers.length, sessions.length, participants.length]).toEqual([1, 2, 2]);
      expect(rowCounts).toEqual([statedRows, expect.any(Number)]);
      expect(Math.max(...rowCounts)).toBe(statedRows);
    },
  );
});

it("a create in a warm isolate takes the trip, the read rows and the keys of KV that docs/numbers.json states", async () => {
  let [rows, reads, puts] = [0, 0, 0];
  const { db, trips } = countingDb(env.DB, {
    after: ({ meta }) => {
      rows += meta.rows_read;
    },
  });
  const counting = (kv: KVNamespace) =>
    replacing(kv, {
      get: (...args: [never, never]) => {
        reads += 1;
        return kv.get(...args);
      },
      put: (...args: [never, never]) => {
        puts += 1;
        return kv.put(...args);
      },
    });
  const world = await World.create({ DB: db, NONCES: counting(env.NONCES), CREDENTIALS: counting(env.CREDENTIALS) });
  for (const sbs of ["first", "second"]) {
    [rows, reads, puts, trips.single, trips.batches] = [0, 0, 0, 0, 0];
    await world.chatId({ sbs });
  }
  expect([rows, reads, puts, trips.single + trips.batches]).toEqual(
    (["rows.read", "rows.kv-reads", "rows.kv-writes", "trips.warm"] as const).map((name) => results[name].value),
  );
});
