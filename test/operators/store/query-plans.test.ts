import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { listAgents, readAgentHistory } from "../../../src/operators/services/agents.ts";
import { rotateSecret } from "../../../src/operators/services/app-secrets.ts";
import { issueApp, listApps, revokeApp } from "../../../src/operators/services/apps.ts";
import { listAuditLog } from "../../../src/operators/services/audit.ts";
import { checkConsoleSession, openConsoleSession } from "../../../src/operators/services/console-sessions.ts";
import { pageOfDeliveries, readDelivery, recentDeliveries } from "../../../src/operators/services/deliveries.ts";
import { drillWebhook } from "../../../src/operators/services/drill-webhook.ts";
import {
  DELIVERY_STATUSES,
  listDeliveries,
  listEvents,
  pingWebhook,
  REDELIVERED_STATUSES,
  redeliver,
  redeliverEvents,
} from "../../../src/operators/services/events.ts";
import { listHomes, reconcileHome } from "../../../src/operators/services/homes.ts";
import { addPerson, endPerson, listPeople } from "../../../src/operators/services/people.ts";
import {
  customerOf,
  findCustomers,
  latestCustomers,
  readCustomer,
} from "../../../src/operators/services/read-customer.ts";
import { resealSecrets } from "../../../src/operators/services/reseal-secrets.ts";
import { authorOf, type ServiceContext } from "../../../src/operators/services/service-context.ts";
import { readTimeline } from "../../../src/operators/services/session-timeline.ts";
import {
  AGENT_PARTS,
  countSessions,
  findSessions,
  listSessions,
  readSession,
} from "../../../src/operators/services/sessions.ts";
import { changeSite, createSite, findSite, listSites } from "../../../src/operators/services/sites.ts";
import { rotateWebhookSecret } from "../../../src/operators/services/webhook-secrets.ts";
import {
  addWebhook,
  changeWebhook,
  deleteWebhook,
  listWebhooks,
  listWebhookUrls,
} from "../../../src/operators/services/webhooks.ts";
import { insertPerson, type PersonRow } from "../../../src/operators/store/directory/people.ts";
import { selectSessionAndEmail } from "../../../src/operators/store/directory/visits.ts";
import { eventsOn, newWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, World } from "../../support/world.ts";

type Bound = { sql: string; values: unknown[] };

/** A database that records every statement with its bound values. */
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

/** The only ways in which a statement may find stored rows: by whole keys. */
const BY_WHOLE_KEY = [
  "agents USING PRIMARY KEY (site_id=? AND id=?)",
  "app_routes USING PRIMARY KEY (appid=?)",
  "apps USING PRIMARY KEY (site_id=? AND appid=?)",
  "customers USING PRIMARY KEY (site_id=? AND external_id=?)",
  "events USING PRIMARY KEY (site_id=? AND seq=?)",
  "home_sites USING INTEGER PRIMARY KEY (rowid=?)",
  "idempotency_keys USING PRIMARY KEY (site_id=? AND appid=? AND operation=? AND key=?)",
  "nonces USING PRIMARY KEY (site_id=? AND appid=? AND ranstr=?)",
  "participants USING PRIMARY KEY (site_id=? AND session_id=? AND agent_id=?)",
  "sessions USING PRIMARY KEY (site_id=? AND id=?)",
  "sites USING INTEGER PRIMARY KEY (rowid=?)",
];

/** The reads that SQLite would make for foreign keys before it removes a row to which other rows refer. */
const FOR_FOREIGN_KEYS = [
  "messages USING PRIMARY KEY (site_id=? AND session_id=?)",
  "participants USING PRIMARY KEY (site_id=? AND session_id=?)",
  "sessions USING COVERING INDEX sessions_by_customer (site_id=? AND customer_external_id=?)",
  "sessions USING INDEX sessions_by_customer (site_id=? AND customer_external_id=?)",
];

/** max(id) of a site: SQLite reads only the site's last row in the primary key. */
const NEWEST_SESSION = "SEARCH sessions USING PRIMARY KEY (site_id=?)";

/** Reads of the event's seq in its row and in its data, of the deliveries' event, and of the site's webhooks (ten at most). */
const OUTBOX = [
  "SEARCH events USING PRIMARY KEY (site_id=?)",
  "SEARCH events USING PRIMARY KEY (site_id=?)",
  "SEARCH newest USING PRIMARY KEY (site_id=?)",
  "SEARCH webhooks USING PRIMARY KEY (site_id=?)",
];

/** Lists from the request, and single rows that a statement builds. */
const NOT_STORED =
  /^SCAN ((asked|each_row|wanted|json_each) VIRTUAL TABLE INDEX 1:|decision|search|found|step|looked|begin|newest|any_app|CONSTANT ROW|\(subquery-\d+\))( LEFT-JOIN| EXISTS)?$/;

/** The steps of a plan that read stored rows without a whole key. */
function suspicious(plan: string[]): string[] {
  const allowed = [...BY_WHOLE_KEY, ...FOR_FOREIGN_KEYS].map((way) => `SEARCH ${way}`);
  const plain = (step: string) => step.replace(" EXISTS USING", " USING").replace(/ LEFT-JOIN$/, "");
  return plan.filter(
    (step) => /\b(SCAN|SEARCH)\b/.test(step) && !NOT_STORED.test(step) && !allowed.includes(plain(step)),
  );
}

/** Sends one request from a cold isolate without KV, and returns the statements that reached D1, in order. */
async function statementsOf(call: (world: World) => Promise<{ status: number }>, world: World): Promise<Bound[]> {
  const { db, statements } = noting(env.DB);
  const { status } = await call(world.anotherIsolate({ DB: db, CREDENTIALS: undefined }));
  expect(status).toBe(200);
  return statements;
}

const suspiciousOf = async (statements: Bound[]) =>
  (await Promise.all(statements.map(async (statement) => suspicious(await planOf(statement))))).flat();

const startOf = ({ sql }: Bound) =>
  /^(WITH decision|INSERT INTO \w+|SELECT(?=\(SELECT)|SELECT \* FROM|SELECT app_routes)/.exec(sql)?.[0];

const KEY = { "idempotency-key": "key" };

describe("the query plans of the signed path", () => {
  it("create_gd finds all rows by whole keys, and the next id by reading one row", async () => {
    const [plain, world] = [await World.create(), await World.create()];
    await eventsOn(world);
    const statements = await statementsOf((isolate) => isolate.create({}, KEY), world);
    expect(statements.map(startOf)).toEqual([
      "SELECT app_routes",
      "WITH decision",
      "INSERT INTO customers",
      "INSERT INTO sessions",
      "INSERT INTO participants",
      "INSERT INTO messages",
      "INSERT INTO events",
      "INSERT INTO idempotency_keys",
      "INSERT INTO deliveries",
      "SELECT",
    ]);
    expect(await suspiciousOf(statements)).toEqual([NEWEST_SESSION, ...OUTBOX]);
    const without = await statementsOf((isolate) => isolate.create({}, KEY), plain);
    expect(without.map(startOf)).toEqual(
      statements.map(startOf).filter((start) => !/events|deliveries/.test(`${start}`)),
    );
    expect(await suspiciousOf(without)).toEqual([NEWEST_SESSION]);
  });

  it("add_kf finds all rows by whole keys", async () => {
    const world = await World.create();
    const chatId = await world.chatId();
    await eventsOn(world);
    const statements = await statementsOf((isolate) => isolate.add(chatId, {}, KEY), world);
    expect(statements.map(startOf)).toEqual([
      "SELECT app_routes",
      "WITH decision",
      "SELECT * FROM",
      "INSERT INTO events",
      "INSERT INTO participants",
      "INSERT INTO idempotency_keys",
      "INSERT INTO deliveries",
      "SELECT",
    ]);
    expect(await suspiciousOf(statements)).toEqual(OUTBOX);
  });

  it("signed calls read no more rows on a site with many agents, sessions and customers", async () => {
    const world = await World.create();
    // The site gets a session first, so that there is a highest id to read.
    await world.chatId();
    const small = await rowsRead(world);
    const many = "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)";
    const fill = (insert: string) => env.DB.prepare(`${many} ${insert}`).bind(world.siteId);
    await env.DB.batch([
      fill("INSERT INTO agents (site_id, id, name, status) SELECT ?, i, 'Agent', 'normal' FROM n"),
      fill("INSERT INTO customers SELECT ?, 'many ' || i, 'Name', '::1', 0, 0 FROM n"),
      fill(`INSERT INTO sessions (id, site_id, appid, kind, customer_external_id, status, auto_title, created_at)
        SELECT 100000 + i, ?, 'app', 'ticket', 'many ' || i, 'waiting', '', 0 FROM n`),
    ]);
    expect(await rowsRead(world)).toEqual(small);
  });

  it("signed calls read the same rows without the planner's statistics", async () => {
    const world = await World.create();
    await world.chatId();
    const before = await rowsRead(world);
    const { results } = await env.DB.prepare("SELECT tbl, idx, stat FROM sqlite_stat1").all<Record<string, string>>();
    expect(results).not.toEqual([]);
    const plan = (...sql: D1PreparedStatement[]) => env.DB.batch([...sql, env.DB.prepare("ANALYZE sqlite_schema")]);
    await plan(env.DB.prepare("DELETE FROM sqlite_stat1"));
    expect(await rowsRead(world)).toEqual(before);
    const insert = env.DB.prepare("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)");
    await plan(...results.map(({ tbl, idx, stat }) => insert.bind(tbl, idx, stat)));
  });
});

/**
 * Runs an operators' call on a site of apac. @returns the statements that reached either home. A site of main needs the same
 * statements, or fewer.
 */
async function operated(act: (ctx: ServiceContext, world: World) => Promise<unknown>): Promise<Bound[]> {
  const world = await World.create({}, "apac");
  await world.chatId();
  const [main, apac] = [noting(env.DB), noting(env.HOME_APAC)];
  await act(contextAt(NOW, { DB: main.db, HOME_APAC: apac.db }), world);
  const statements = [...main.statements, ...apac.statements];
  expect(statements).not.toEqual([]);
  return statements;
}

/** A person whom a statement looks for by the e-mail address. */
const PERSON: PersonRow = {
  id: `per_${"a".repeat(32)}`,
  email: "plans@example.com",
  name: null,
  hash: null,
  role: "viewer",
  siteId: null,
  createdAt: NOW,
  expiresAt: null,
  lastUsedAt: null,
  deletedAt: null,
};

/** Small tables that rare operators' calls may read as a whole, with one row for each site, app, home, token, person or session of the console. */
const READ_WHOLE =
  /^SCAN (admin_tokens|people|console_sessions|home_sites|site_deletions|sites|apps|app_routes|webhooks|customer_hash_keys)( USING .*| LEFT-JOIN)?$/;

/** The probe of a home names all tables and reads no rows: test/operators/store/home/probe.test.ts. */
const isProbe = ({ sql }: Bound) => sql.includes(" WHERE 0)");

const scansOf = async (statements: Bound[]) =>
  (await Promise.all(statements.filter((each) => !isProbe(each)).map(planOf)))
    .flat()
    .filter((step) => step.startsWith("SCAN") && !NOT_STORED.test(step));

/** Tables that are read before something is sealed. Until the cron has made the canary, the apps show whether the master key is right. */
const SEALS = ["app_routes", "apps", "customer_hash_keys"];

describe("the query plans of operators' calls", () => {
  const site = async (ctx: ServiceContext, { siteId }: World) => findSite(ctx, { siteId });
  const page = { limit: 20 };

  it.each<[string, (ctx: ServiceContext, world: World) => Promise<unknown>]>([
    ["list sites", (ctx) => listSites(ctx, page)],
    ["list apps", async (ctx, world) => listApps(ctx, { site: await site(ctx, world), ...page })],
    ["list agents", async (ctx, world) => listAgents(ctx, { site: await site(ctx, world), ...page })],
    ["list sessions", async (ctx, world) => listSessions(ctx, { site: await site(ctx, world), ...page })],
    [
      "list waiting sessions",
      async (ctx, world) => listSessions(ctx, { site: await site(ctx, world), status: "waiting", ...page }),
    ],
    [
      "list a customer's sessions",
      async (ctx, world) => listSessions(ctx, { site: await site(ctx, world), sbs: "customer_001", ...page }),
    ],
    [
      "find sessions by app, agent and time",
      async (ctx, world) => {
        const filter = { appid: world.appid, agentId: 2, since: NOW - 60, until: NOW + 60 };
        const at = await site(ctx, world);
        const parts = AGENT_PARTS.map((agentPart) => ({ agentPart }));
        for (const more of [{}, { status: "waiting" as const }, { sbs: "customer_001" }, ...parts])
          await findSessions(ctx, { site: at, ...filter, ...more, ...page });
      },
    ],
    [
      "read what happened to a session",
      async (ctx, world) => {
        await newWebhook(world);
        await world.chatId();
        const at = await site(ctx, world);
        await readTimeline(ctx, { site: at, storedSession: await readSession(ctx, { site: at, chatId: 2 }) });
      },
    ],
    [
      "show customers",
      async (ctx, world) => {
        const at = await site(ctx, world);
        await latestCustomers(ctx, { site: at, limit: 20 });
        await readCustomer(ctx, { site: at, sbs: "customer_001" });
        await customerOf(ctx, { site: at, chatId: 1 });
        for (const after of [undefined, "a"]) await findCustomers(ctx, { site: at, text: "Cust", after, limit: 20 });
      },
    ],
    ["read a session", async (ctx, world) => readSession(ctx, { site: await site(ctx, world), chatId: 1 })],
    ["count sessions", async (ctx, world) => countSessions(ctx, { site: await site(ctx, world), since: [0, NOW] })],
    ["list a site's audit log", (ctx, { siteId }) => listAuditLog(ctx, { siteId, ...page })],
    [
      "read an agent's history",
      async (ctx, world) => readAgentHistory(ctx, { site: await site(ctx, world), id: 1, limit: 20 }),
    ],
    [
      "let people in, list them, and let them visit",
      async (ctx) => {
        const { token = "" } = await addPerson(ctx, { name: "Mei", role: "viewer" });
        const cookie = await openConsoleSession(ctx, { token, client: "192.0.2.1", browser: null });
        await checkConsoleSession(ctx, { cookie });
        await selectSessionAndEmail(ctx.runtime, ctx.config.directory, { id: "0", email: "ada@example.com" }, NOW);
        await insertPerson(ctx.runtime, ctx.config.directory, PERSON, authorOf(ctx));
        await listPeople(ctx, page);
      },
    ],
    ["rotate a secret", (ctx, { appid }) => rotateSecret(ctx, { appid, overlapSeconds: 60 })],
    ["revoke an app", (ctx, { appid }) => revokeApp(ctx, { appid })],
    [
      "change a site",
      async (ctx, world) => {
        const change = { name: "New", status: "closed" as const, firstChatId: 1_000 };
        return changeSite(ctx, { site: await site(ctx, world), change });
      },
    ],
    ["list events", async (ctx, world) => listEvents(ctx, { site: await site(ctx, world), after: 0, limit: 20 })],
  ])("a call to %s scans no table", async (_, act) => {
    expect(await scansOf(await operated(act))).toEqual([]);
  });

  it.each<[string, string[], (ctx: ServiceContext, world: World) => Promise<unknown>]>([
    // The plan names app_routes only for a foreign key. The next test shows that its rows are not read.
    ["create a site", ["app_routes", "sites"], (ctx) => createSite(ctx, { name: "New", home: "apac", firstChatId: 1 })],
    ["list homes", ["sites"], (ctx) => listHomes(ctx)],
    ["list the audit log", ["sites"], (ctx) => listAuditLog(ctx, page)],
    [
      "list a part of the audit log",
      ["sites"],
      (ctx) => {
        const filter = { who: "root", action: "agent.added" as const, subject: "1", since: NOW, until: NOW };
        return listAuditLog(ctx, { ...filter, ...page });
      },
    ],
    ["issue an app", SEALS, async (ctx, world) => issueApp(ctx, { site: await site(ctx, world), name: "N" })],
    [
      "everything about a webhook",
      SEALS,
      async (ctx, world) => {
        const at = await site(ctx, world);
        const { id } = await addWebhook(ctx, { site: at, url: "https://hooks.example.com/" });
        const target = { site: at, webhookId: id };
        await listWebhookUrls(ctx, target);
        const webhooks = await listWebhooks(ctx, target);
        const { seq } = await pingWebhook(ctx, target);
        await drillWebhook(ctx, target);
        await listDeliveries(ctx, { ...target, status: "pending", ...page });
        for (const status of DELIVERY_STATUSES) await pageOfDeliveries(ctx, { ...target, status, after: 0, limit: 20 });
        await readDelivery(ctx, { ...target, seq });
        await recentDeliveries(ctx, { site: at, webhooks });
        await redeliver(ctx, { ...target, seq });
        for (const status of REDELIVERED_STATUSES)
          await redeliverEvents(ctx, { ...target, status: [status], since: 0 });
        await rotateWebhookSecret(ctx, { ...target, overlapSeconds: 60 });
        await changeWebhook(ctx, { ...target, change: { status: "disabled" } });
        await deleteWebhook(ctx, target);
      },
    ],
    [
      "end a person's access",
      ["console_sessions"],
      async (ctx) => endPerson(ctx, await addPerson(ctx, { name: "Mei", role: "viewer" })),
    ],
    ["re-seal", ["apps", "customer_hash_keys", "webhooks"], (ctx) => resealSecrets(ctx)],
    [
      "reconcile the home apac",
      ["home_sites", "site_deletions"],
      (ctx) => reconcileHome(ctx, { home: "apac", skip: 1, force: true }),
    ],
    [
      "reconcile the home main",
      ["admin_tokens", "app_routes", "home_sites", "people", "site_deletions"],
      (ctx) => reconcileHome(ctx, { home: "main", skip: 1, force: true }),
    ],
  ])("a call to %s scans only small tables", async (_, tables, act) => {
    const scans = await scansOf(await operated(act));
    expect(scans.filter((scan) => !READ_WHOLE.test(scan))).toEqual([]);
    expect([...new Set(scans.map((scan) => scan.split(" ")[1]))].sort()).toEqual(tables);
  });

  it("a new site reads no more rows when there are many routes", async () => {
    const { siteId } = await World.create();
    const create = async () => {
      const reader = reading();
      await createSite(contextAt(NOW, { DB: reader.db }), { name: "New", home: "main", firstChatId: 1 });
      return reader.rows();
    };
    await create();
    const few = await create();
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
       INSERT INTO app_routes (appid, site_id) SELECT 'route-' || i, ? FROM n`,
    )
      .bind(siteId)
      .run();
    // One more site was made meanwhile, and each of three reads finds it.
    expect(await create()).toBeLessThanOrEqual(few + 3);
  });
});

/** The rows that D1 reads for one create and one add. */
async function rowsRead(world: World): Promise<{ create: number; add: number }> {
  const { db, rows } = reading();
  const isolate = world.anotherIsolate({ DB: db });
  const chatId = await isolate.chatId({ sbs: crypto.randomUUID() });
  const create = rows();
  expect((await isolate.add(chatId)).status).toBe(200);
  return { create, add: rows() - create };
}

/** A database that counts the rows that its batches read. */
function reading() {
  let read = 0;
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await env.DB.batch(statements);
    for (const { meta } of results) read += meta.rows_read;
    return results;
  };
  return { db: replacing(env.DB, { batch }), rows: () => read };
}
