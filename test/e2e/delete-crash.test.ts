import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Receiver } from "../support/receiver.ts";
import { CrashableWorker, type SignedApp } from "../support/run-crashable.ts";
import { signedCall } from "../support/signed-call.ts";

/** A site is deleted beside a neighbour in the same home, and workerd is killed at each stage of the deletion. */

const PRUNE_CRON = "*/5 * * * *";
const AGENTS = [1, 2, 3];
const SESSIONS = 6_000;
/** workerd is killed this many milliseconds after the request for the deletion. */
const ASKED_FOR_MS = [3, 12, 40];
/** workerd is also killed when at most these shares of the site's rows are left. */
const SHARES_LEFT = [0.95, 0.8, 0.6, 0.4, 0.2, 0.05, 0];
/** The tables whose rows stay for ever, or for 31 days in case of a restore. See docs/operating/data-and-restore.md, "Deleting a site". */
const KEPT_TABLES = ["app_routes", "audit_log", "site_deletions"];

let worker: CrashableWorker;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await Receiver.start();
  worker = new CrashableWorker({ WEBHOOK_LOOPBACK: "allow" });
});

afterAll(async () => {
  await worker?.remove();
  await receiver?.close();
});

async function create(app: SignedApp, n: number): Promise<{ status: number; body: unknown }> {
  const customer = { sbs: `customer ${n}`, sbs_mc: "Somebody", ip: "127.0.0.1" };
  const fields = { ...customer, content: `Hello ${n}`, kefu_id: [1, 2], fzr_uid: 1 };
  const answer = await signedCall(worker.url, app, "create_gd", fields, { "idempotency-key": `key-${n}` });
  return { status: answer.status, body: await answer.json() };
}

/** Makes a site with a webhook, an erased customer, and some sessions whose events have arrived. */
async function usedSite(): Promise<SignedApp> {
  const app = await worker.provision("apac", AGENTS);
  const site = `/admin/sites/${app.siteId}`;
  await worker.admin("POST", `${site}/webhooks`, { url: `${receiver.url}/${app.siteId}` });
  for (let n = 0; n < 12; n++) expect((await create(app, n)).status).toBe(200);
  await worker.admin("POST", `${site}/customers/erase`, { sbs: "customer 0" });
  await expect.poll(() => statusesOf(app.siteId)).toEqual(["delivered"]);
  return app;
}

const statusesOf = (siteId: number): unknown[] =>
  worker
    .databases((db) => db.prepare("SELECT DISTINCT status FROM deliveries WHERE site_id = ?").all(siteId))
    .flat()
    .map(({ status }) => status);

/** Gives a site thousands of whole sessions. The Worker must not run meanwhile. */
function fill({ siteId }: SignedApp): void {
  worker.databases((db) => {
    if (db.prepare("SELECT 1 FROM home_sites WHERE site_id = ?").get(siteId) === undefined) return;
    const n = `WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < ${999 + SESSIONS})`;
    for (const insert of [
      `INSERT INTO customers SELECT ${siteId}, 'many ' || i, 'Name', '::1', i, i FROM n`,
      `INSERT INTO sessions (site_id, id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at)
       SELECT ${siteId}, i, 'app', 'ticket', 'many ' || i, 1, 'waiting', 'Title', 1000 + i FROM n`,
      `INSERT INTO messages SELECT ${siteId}, i, 1, 'visitor', NULL, 'Hello', 1000 + i FROM n`,
      `INSERT INTO participants SELECT ${siteId}, i, 2, 1, 1000 + i FROM n`,
      `INSERT INTO events SELECT ${siteId}, i, 'evt_many_' || i, 'session.created', i, 1000 + i, '{"participants":[{}]}' FROM n`,
      `INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, created_at)
       SELECT site_id, id, i, 'delivered', 1, 1000 + i FROM n CROSS JOIN webhooks WHERE site_id = ${siteId}`,
    ]) {
      db.exec(`${n} ${insert}`);
    }
  }, false);
}

const tablesOf = (db: DatabaseSync): string[] =>
  db
    .prepare(
      `SELECT name FROM sqlite_schema AS t WHERE type = 'table'
       AND EXISTS (SELECT 1 FROM pragma_table_info(t.name) AS c WHERE c.name = 'site_id') ORDER BY name`,
    )
    .all()
    .map(({ name }) => String(name));

/** All rows of a site in all databases, by table. */
function rowsOf({ siteId }: SignedApp): Record<string, Record<string, SQLOutputValue>[]> {
  const rows: Record<string, Record<string, SQLOutputValue>[]> = {};
  worker.databases((db) => {
    for (const table of tablesOf(db)) {
      const tableRows = db.prepare(`SELECT * FROM "${table}" WHERE site_id = ?`).all(siteId);
      if (tableRows.length > 0) rows[table] = [...(rows[table] ?? []), ...tableRows];
    }
    const siteRows = db.prepare("SELECT * FROM sites WHERE id = ?").all(siteId);
    if (siteRows.length > 0) rows.sites = siteRows;
  });
  return rows;
}

/** How many of the rows that a deletion deletes are left. */
function countLeft({ siteId }: SignedApp): number {
  const counts = worker.databases((db) => {
    const tables = tablesOf(db).filter((table) => !KEPT_TABLES.includes(table));
    const each = tables.map((table) =>
      db.prepare(`SELECT count(*) AS n FROM "${table}" WHERE site_id = ?`).get(siteId),
    );
    return each.reduce((sum, row) => sum + Number(row?.n), 0);
  });
  return counts.reduce((sum, each) => sum + each, 0);
}

/** Rows that refer to a missing session, and sessions without their message. */
const halves = () =>
  worker.databases((db) =>
    db
      .prepare(
        `SELECT 'message' AS what FROM messages WHERE (site_id, session_id) NOT IN (SELECT site_id, id FROM sessions)
         UNION ALL SELECT 'participant' FROM participants WHERE (site_id, session_id) NOT IN (SELECT site_id, id FROM sessions)
         UNION ALL SELECT 'session' FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.site_id = s.site_id AND m.session_id = s.id)`,
      )
      .all(),
  );

it("a deletion removes its whole site and no row of the neighbour, also when workerd is killed in between", async () => {
  await worker.start();
  const [app, neighbour] = [await usedSite(), await usedSite()];
  const site = `/admin/sites/${app.siteId}`;
  await worker.kill();
  fill(app);
  const untouched = rowsOf(neighbour);
  expect(untouched.sessions).toHaveLength(11);
  const whole = countLeft(app);
  expect(whole).toBeGreaterThan(6 * SESSIONS);

  await worker.start();
  await worker.admin("PATCH", site, { status: "closed" });
  const end = () => worker.admin<{ deletion_id: string }>("DELETE", site, { name: "Site" });
  const deletionIds: string[] = [];
  for (const ms of ASKED_FOR_MS) {
    const request = end().then(({ deletion_id }) => deletionIds.push(deletion_id));
    const settled = Promise.allSettled([request]);
    await sleep(ms);
    await worker.kill();
    await settled;
    await worker.start();
  }
  deletionIds.push((await end()).deletion_id);
  expect(new Set(deletionIds).size).toBe(1);

  const leftAfter: number[] = [];
  for (const share of SHARES_LEFT) {
    const running = Promise.allSettled([worker.scheduled(PRUNE_CRON)]);
    let isOver = false;
    void running.then(() => {
      isOver = true;
    });
    while (!isOver && countLeft(app) > share * whole) await sleep(2);
    await worker.kill();
    await running;
    leftAfter.push(countLeft(app));
    expect(halves().flat()).toEqual([]);
    await worker.start();
  }
  // workerd was killed at least three times while rows were left, and the deletion continued each time.
  expect(new Set(leftAfter.filter((count) => count > 0 && count < whole)).size).toBeGreaterThanOrEqual(3);
  for (let runs = 0; runs < 2; runs++) await worker.scheduled(PRUNE_CRON);

  const status = await worker.admin<{ name: string; deletion: object }>("GET", site);
  expect(status).toMatchObject({ name: "", status: "deleted", deletion: { deletion_id: deletionIds[0] } });
  expect(status.deletion).toMatchObject({ done_at: expect.any(Number) });
  const unknown = { ...app, appid: "nobodys-app-nobodys-app-nobodys0" };
  expect(await create(app, 1)).toEqual(await create(unknown, 1));
  expect((await create(neighbour, 100)).status).toBe(200);
  await worker.kill();

  const rows = rowsOf(app);
  expect(Object.keys(rows).sort()).toEqual([...KEPT_TABLES, "sites"].sort());
  expect(rows.sites).toMatchObject([{ name: "", status: "deleted" }]);
  const actions = rows.audit_log?.map(({ action }) => action);
  for (const action of ["site.deletion_begun", "site.deleted"]) {
    expect(actions?.filter((each) => each === action)).toHaveLength(1);
  }
  const now = rowsOf(neighbour);
  for (const [table, rows] of Object.entries(untouched)) expect(now[table]).toEqual(expect.arrayContaining(rows));
});
