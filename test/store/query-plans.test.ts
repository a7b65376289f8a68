import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { replacing } from "../support/replacing.ts";
import { World } from "../support/world.ts";

type Bound = { sql: string; values: unknown[] };

/** A database that notes every statement with the values it is bound to. */
function noting(db: D1Database): { db: D1Database; statements: Bound[] } {
  const statements: Bound[] = [];
  const prepare = (sql: string) =>
    replacing(db.prepare(sql), {
      bind: (...values: unknown[]) => {
        statements.push({ sql, values });
        return db.prepare(sql).bind(...values);
      },
    });
  return { db: replacing(db, { prepare }), statements };
}

async function planOf({ sql, values }: Bound): Promise<string[]> {
  const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .bind(...values)
    .all<{ detail: string }>();
  return results.map(({ detail }) => detail);
}

/** The only ways a statement may find stored rows: by a whole key. */
const BY_WHOLE_KEY = [
  "agents USING PRIMARY KEY (site_id=? AND id=?)",
  "apps USING PRIMARY KEY (appid=?)",
  "customers USING COVERING INDEX customers_by_external_id (site_id=? AND external_id=?)",
  "idempotency_keys USING PRIMARY KEY (appid=? AND operation=? AND key=?)",
  "nonces USING PRIMARY KEY (appid=? AND ranstr=?)",
  "participants USING PRIMARY KEY (session_id=? AND agent_id=?)",
  "sessions USING INTEGER PRIMARY KEY (rowid=?)",
];

/** What SQLite would ask before it let a row go that others refer to by foreign key. */
const FOR_FOREIGN_KEYS = [
  "messages USING PRIMARY KEY (session_id=?)",
  "participants USING PRIMARY KEY (session_id=?)",
  "sessions USING COVERING INDEX sessions_by_customer (customer_id=?)",
];

/** max(id) without a condition: SQLite calls it a search and reads the one last row of the primary key. */
const NEWEST_SESSION = "SEARCH sessions";

/** Lists the request brought, and the single rows a statement makes up. */
const NOT_STORED = /^SCAN (asked VIRTUAL TABLE INDEX 1:|decision|CONSTANT ROW|\(subquery-\d+\))$/;

/** The reads of a plan that are neither by a whole key nor of something not stored. */
function suspicious(plan: string[]): string[] {
  const allowed = [...BY_WHOLE_KEY, ...FOR_FOREIGN_KEYS].map((way) => `SEARCH ${way}`);
  const plain = (step: string) => step.replace(" EXISTS USING", " USING").replace(/ LEFT-JOIN$/, "");
  return plan.filter(
    (step) => /\b(SCAN|SEARCH)\b/.test(step) && !NOT_STORED.test(step) && !allowed.includes(plain(step)),
  );
}

/** Sends one request from a cold isolate without KV, and gives the statements that went to D1, in order. */
async function statementsOf(call: (world: World) => Promise<{ status: number }>, world: World): Promise<Bound[]> {
  const { db, statements } = noting(env.DB);
  const { status } = await call(world.anotherIsolate({ DB: db, CREDENTIALS: undefined as never }));
  expect(status).toBe(200);
  return statements;
}

const suspiciousOf = async (statements: Bound[]) =>
  (await Promise.all(statements.map(async (statement) => suspicious(await planOf(statement))))).flat();

const startOf = ({ sql }: Bound) =>
  /^(WITH decision|INSERT INTO "\w+"|SELECT (EXISTS|\* FROM)|select "appid")/.exec(sql)?.[0];

const KEY = { "idempotency-key": "key" };

describe("the query plans of the signed path", () => {
  it("find all that create_gd needs by whole keys, and the next id by one row", async () => {
    const statements = await statementsOf((isolate) => isolate.create({}, KEY), await World.create());
    expect(statements.map(startOf)).toEqual([
      'select "appid"',
      "WITH decision",
      'INSERT INTO "customers"',
      'INSERT INTO "sessions"',
      'INSERT INTO "participants"',
      'INSERT INTO "messages"',
      'INSERT INTO "idempotency_keys"',
      "SELECT EXISTS",
    ]);
    expect(await suspiciousOf(statements)).toEqual([NEWEST_SESSION]);
  });

  it("find all that add_kf needs by whole keys", async () => {
    const world = await World.create();
    const chatId = await world.chatId();
    const statements = await statementsOf((isolate) => isolate.add(chatId, {}, KEY), world);
    expect(statements.map(startOf)).toEqual([
      'select "appid"',
      "WITH decision",
      "SELECT * FROM",
      'INSERT INTO "participants"',
      'INSERT INTO "idempotency_keys"',
      "SELECT EXISTS",
    ]);
    expect(await suspiciousOf(statements)).toEqual([]);
  });

  it("read no more for a site with many agents, sessions and customers", async () => {
    const world = await World.create();
    const small = await rowsRead(world);
    const many = "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)";
    const fill = (insert: string) => env.DB.prepare(`${many} ${insert}`).bind(world.siteId);
    await env.DB.batch([
      fill("INSERT INTO agents SELECT ?, i, 'Agent', 'normal' FROM n"),
      fill("INSERT INTO customers SELECT 100000 + i, ?, 'many ' || i, 'Name', '::1', 0, 0 FROM n"),
      fill(`INSERT INTO sessions (id, site_id, kind, customer_id, status, auto_title, created_at)
        SELECT 100000 + i, ?, 'ticket', 100000 + i, 'waiting', '', 0 FROM n`),
    ]);
    expect(await rowsRead(world)).toEqual(small);
  });
});

/** What D1 says it read for one create and one add. */
async function rowsRead(world: World): Promise<{ create: number; add: number }> {
  let read = 0;
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await env.DB.batch(statements);
    for (const { meta } of results) read += meta.rows_read;
    return results;
  };
  const isolate = world.anotherIsolate({ DB: replacing(env.DB, { batch }) });
  const chatId = await isolate.chatId({ sbs: crypto.randomUUID() });
  const create = read;
  expect((await isolate.add(chatId)).status).toBe(200);
  return { create, add: read - create };
}
