import type { Runtime } from "../../../../src/runtime.ts";
import { CALL_RULES } from "../../../../src/signed/call-rules.ts";
import { insertAudit, insertAuditOncePerHour, selectAuditEntries } from "../../../../src/store/audit.ts";
import { copyRoutesToDirectory, copySitesToDirectory, copySitesToHome } from "../../../../src/store/copy-sites.ts";
import {
  insertToken,
  selectToken,
  selectTokens,
  updateTokenDeleted,
  updateTokenUsed,
} from "../../../../src/store/directory/admin-tokens.ts";
import {
  deleteRoute,
  reserveRoute,
  selectRoute,
  selectRouteToRelease,
} from "../../../../src/store/directory/app-routes.ts";
import {
  deleteForm,
  insertConsoleSession,
  insertForm,
  selectConsoleSession,
  selectConsoleSessions,
  updateForm,
  updateSessionEnded,
  updateSessionUsed,
} from "../../../../src/store/directory/console-sessions.ts";
import {
  countSitesByHome,
  insertSite,
  selectSite,
  selectSites,
  updateSiteCopy,
  updateSiteOpen,
} from "../../../../src/store/directory/sites.ts";
import {
  selectAppsAfter,
  selectAppsOf,
  selectRoutesAfter,
  selectUnroutedOf,
} from "../../../../src/store/divergent-apps.ts";
import * as agents from "../../../../src/store/home/agents.ts";
import * as apps from "../../../../src/store/home/apps.ts";
import { probeHome } from "../../../../src/store/home/probe.ts";
import { countSealedOtherwise, replaceSeals, selectSealedOtherwise } from "../../../../src/store/home/seals.ts";
import { selectSession, selectSessionCounts, selectSessions } from "../../../../src/store/home/sessions.ts";
import { insertHomeSite, type KnownSite, selectHomeSite, updateHomeSite } from "../../../../src/store/home/sites.ts";
import { prune } from "../../../../src/store/prune.ts";
import {
  keepInDirectory,
  notCopied,
  noteCopied,
  reconciledAt,
  selectFloors,
  skipIds,
} from "../../../../src/store/reconciliations.ts";
import { type Cases, errorOf } from "../case.ts";
import { APP, everything, madeHome, NOW, type Store } from "./home.ts";

/** A fixed clock, and no time limit that strikes. */
const runtime: Runtime = {
  now: () => NOW * 1000,
  elapsed: () => 0,
  after: () => () => {},
  random: () => 0.5,
  bytes: (length) => new Uint8Array(length),
  uuid: () => "00000000-0000-4000-8000-000000000000",
};
const author = {
  actor: "console",
  now: NOW + 9,
  requestId: "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12",
  who: { kind: "token", id: "tok_1", name: "Nightly" },
  address: "192.0.2.0/24",
} as const;
const SESSION = {
  id: "s",
  createdAt: NOW,
  expiresAt: NOW + 9,
  browser: null,
  address: null,
  lastUsedAt: NOW,
  endedAt: null,
  whoKind: "root" as const,
  whoId: "root",
  whoName: "ADMIN_TOKEN",
};
const PERSONS = {
  ...SESSION,
  id: "p",
  whoKind: "person",
  whoId: "ada@example.com",
  whoName: "ada@example.com",
} as const;
const TOKEN = {
  id: "tok_1",
  hash: "1",
  name: "Nightly",
  role: "operator",
  siteId: 7,
  createdAt: NOW,
  expiresAt: null,
  lastUsedAt: null,
  deletedAt: null,
} as const;
const AUDIT_FILTER = {
  siteId: 7,
  who: "Nightly",
  action: "token.created" as const,
  subject: "tok_1",
  since: NOW + 9,
  until: NOW + 9,
};
/** The directory's row of the site. */
const KNOWN: KnownSite = {
  siteId: APP.siteId,
  home: "main",
  name: "Site",
  chatIdFloor: 0,
  revision: 0,
  status: "open",
  retentionDays: null,
};
const NEWER: KnownSite = { ...KNOWN, name: "Newer", status: "closed", chatIdFloor: 50, revision: 9 };
const ROOT_READ = { siteId: null, action: "root.read", subject: "" } as const;
const key = { siteId: APP.siteId, appid: APP.appid };
const ownerKey = { siteId: APP.siteId, name: APP.appid };

const changeAgent = (db: D1Database, id: number, change: Parameters<typeof agents.updateAgent>[3]) =>
  agents.updateAgent(runtime, db, { siteId: 7, id }, change, author, Number.POSITIVE_INFINITY);

const SEALED = { secret: "sealed 1", previousSecret: "sealed 0" };
const RECONCILIATION = { id: "s", home: "main", skip: 1000 };
/** Remembered floors: higher ones than a site has, and those of an unknown site. */
const REMEMBERED = {
  floors: [
    { siteId: 7, chatId: 500, eventSeq: 20 },
    { siteId: 99, chatId: 9, eventSeq: 9 },
  ],
  highestSite: 99,
};

/** A case on a migrated home. It returns the results of its calls in order, and then all stored rows. */
const onHome =
  (...calls: ((db: D1Database) => unknown)[]) =>
  async (store: Store) => {
    const db = await madeHome(store);
    const answers: unknown[] = [];
    for (const call of calls) answers.push(await call(db));
    return { answers, stored: await everything(db) };
  };

/** Sessions 1 to 3 of the site, of two customers, with all of their rows. */
async function threeSessions(db: D1Database) {
  const run = (sql: string) => db.prepare(sql);
  await db.batch([
    run("INSERT INTO customers VALUES (7, 'c1', 'One', '::1', 1, 1), (7, 'c2', 'Two 🙂', '::2', 2, 2)"),
    run(`INSERT INTO sessions (site_id, id, appid, kind, customer_external_id, responsible_agent_id, status, visitor_title,
      agent_title, auto_title, created_at, metadata) VALUES
      (7, 1, 'a', 'ticket', 'c1', 1, 'waiting', NULL, NULL, 'auto 1', 100, NULL),
      (7, 2, 'a', 'ticket', 'c2', 99, 'replied', 'v', 'a', 'auto 2', 200, '{"order":"7"}'),
      (7, 3, 'a', 'chat', 'c1', NULL, 'waiting', 'v', NULL, 'auto 3', 300, '{}')`),
    run("INSERT INTO participants VALUES (7, 1, 2, 1, 100), (7, 1, 98, 1, 101)"),
    run("INSERT INTO messages VALUES (7, 1, 1, 'visitor', NULL, 'Hi', 100), (7, 1, 2, 'agent', 1, 'Hello', 101)"),
    run("INSERT INTO messages VALUES (7, 2, 1, 'agent', 0, 'System', 200)"),
  ]);
}

const expired = async (db: D1Database) => {
  const owner = "'o', 1";
  await db.batch([
    db
      .prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
      INSERT INTO nonces (site_id, appid, ranstr, owner, attempt, expires_at, outcome, session_id)
      SELECT 7, 'a', 'r' || i, ${owner}, CASE i % 3 WHEN 0 THEN ? ELSE 1 END, 'accepted', NULL FROM n`)
      .bind(NOW + 1),
    db
      .prepare("INSERT INTO idempotency_keys VALUES (7, 'a', 'o', 'k1', '', 1, 1), (7, 'a', 'o', 'k2', '', 1, ?)")
      .bind(NOW + 1),
    db
      .prepare("INSERT INTO console_sessions (id, created_at, expires_at) VALUES ('a', 1, 1), ('b', 1, ?)")
      .bind(NOW + 1),
    db.prepare("INSERT INTO console_forms VALUES ('f', 'a', NULL, 1), ('g', 'a', '/x', ?)").bind(NOW + 1),
  ]);
};

const pruned = (db: D1Database) =>
  prune(
    runtime,
    {
      directory: db,
      homes: new Map([["main", db]]),
      closedHomes: new Set(),
      eventRetentionDays: 30,
      journalDays: 30,
      sessionEventTypes: [],
      callRules: CALL_RULES,
    },
    NOW,
    {
      chunkRows: 4,
      statements: 100,
    },
  );

/** Rules of every function of src/store, by drizzle's `.get()`, `.all()`, `.run()` and `batch()`. */
export const storeCases: Cases<Store> = {
  "sessions are listed, read and counted": onHome(
    threeSessions,
    (db) => selectSessions(db, 7, {}, 99, 10),
    (db) => selectSessions(db, 7, { status: "waiting", customerExternalId: "c1" }, 3, 10),
    (db) => selectSession(db, 7, 1),
    (db) => selectSession(db, 7, 2),
    (db) => selectSession(db, 7, 3),
    (db) => selectSession(db, 7, 99),
    (db) => selectSessionCounts(db, 7, [0, 200, 999]),
    (db) => selectSessionCounts(db, 8, [0]),
  ),
  "agents are added, all or none, listed and changed": onHome(
    (db) =>
      agents.insertAgents(
        db,
        7,
        [
          { id: 5, name: "Five" },
          { id: 4, name: "It's 🙂" },
        ],
        author,
      ),
    (db) =>
      agents.insertAgents(
        db,
        7,
        [
          { id: 6, name: "Six" },
          { id: 1, name: "One" },
          { id: 4, name: "Four" },
        ],
        author,
      ),
    (db) => agents.selectTakenAgents(db, 7, [{ id: 9 }, { id: 2 }]),
    (db) => agents.selectAgents(db, 7, 1, 2),
    (db) => changeAgent(db, 2, { name: "Li 2", status: "disabled" }),
    (db) => changeAgent(db, 3, { status: "normal" }),
    (db) => changeAgent(db, 2, {}),
    (db) => changeAgent(db, 99, { name: "None" }),
    (db) => selectAuditEntries(db, { siteId: 7 }, Number.MAX_SAFE_INTEGER, 3),
    (db) => selectAuditEntries(db, {}, 3, 10),
  ),
  "an agent of a site that the home does not have is not added": onHome(
    (db) => agents.insertAgents(db, 99, [{ id: 5, name: "Five" }], author),
    (db) => agents.selectAgents(db, 99, 0, 10),
    (db) => selectAuditEntries(db, { siteId: 99 }, Number.MAX_SAFE_INTEGER, 10),
  ),
  "apps are issued, found, rotated and revoked": onHome(
    (db) =>
      apps.insertApp(
        runtime,
        db,
        { siteId: 7, home: "main", appid: "b", name: "B", version: "b1", secret: "s", imported: [] },
        0,
        author,
      ),
    (db) =>
      apps.insertApp(
        runtime,
        db,
        { siteId: 7, home: "main", appid: "b", name: "B", version: "b2", secret: "s", imported: ["appid"] },
        0,
        author,
      ),
    (db) => apps.fenceAppid(runtime, db, { siteId: 7, appid: "b" }, 0),
    (db) => apps.fenceAppid(runtime, db, { siteId: 7, appid: "c" }, 99),
    (db) =>
      apps.insertApp(
        runtime,
        db,
        { siteId: 7, home: "main", appid: "c", name: "C", version: "c1", secret: "s", imported: [] },
        0,
        author,
      ),
    (db) => apps.selectApp(runtime, db, key),
    (db) => apps.selectApp(runtime, db, { siteId: 8, appid: APP.appid }),
    (db) => apps.selectAppSummary(db, key),
    (db) => apps.selectApps(db, 7, "", 10),
    (db) =>
      apps.updateSecret(
        runtime,
        db,
        { ...key, version: "v1", previousVersion: null },
        {
          version: "v2",
          secret: "sealed 2",
          previousVersion: "v1",
          previousSecret: "sealed 1",
          previousExpiresAt: NOW + 99,
        },
        undefined,
        author,
      ),
    (db) =>
      apps.updateSecret(
        runtime,
        db,
        { ...key, version: "v1", previousVersion: null },
        { version: "v3", secret: "sealed 3" },
        "previous",
        author,
      ),
    (db) =>
      apps.updateSecret(
        runtime,
        db,
        { ...key, version: "v2", previousVersion: "v1" },
        { version: "v3", secret: "sealed 3" },
        "current",
        author,
      ),
    (db) => apps.clearPrevious(runtime, db, { ...key, version: "v2", previousVersion: "v1" }, author),
    (db) => apps.clearPrevious(runtime, db, { ...key, version: "v3", previousVersion: "v1" }, author),
    (db) => apps.updateRevoked(runtime, db, key, author),
    (db) => apps.updateRevoked(runtime, db, key, { ...author, now: NOW + 50 }),
    (db) => apps.updateRevoked(runtime, db, { siteId: 7, appid: "none" }, author),
  ),
  "seals are listed and replaced": onHome(
    (db) => countSealedOtherwise(db, "sealed 1"),
    (db) => selectSealedOtherwise(db, "apps", "sealed 1", { siteId: 0, name: "" }, 10),
    (db) => selectSealedOtherwise(db, "webhooks", "sealed 1", { siteId: 0, name: "" }, 10),
    (db) => selectSealedOtherwise(db, "apps", "sealed 1", ownerKey, 10),
    (db) =>
      replaceSeals(
        db,
        {
          apps: [
            {
              ...ownerKey,
              version: "v1",
              secret: "new",
              previousVersion: "v0",
              previousSecret: "new 0",
              before: SEALED,
            },
          ],
          webhooks: [],
        },
        author,
      ),
    (db) =>
      replaceSeals(
        db,
        {
          apps: [
            {
              ...ownerKey,
              version: "gone",
              secret: "newer",
              previousVersion: null,
              previousSecret: null,
              before: SEALED,
            },
          ],
          webhooks: [],
        },
        author,
      ),
    (db) => countSealedOtherwise(db, "new"),
  ),
  "sites are begun, finished, copied and listed": onHome(
    (db) => insertSite(runtime, db, { name: "New", home: "main", firstChatId: 5 }, author),
    (db) => insertSite(runtime, db, { name: "New", home: "main", firstChatId: 5 }, { ...author, now: NOW + 1 }),
    (db) => updateSiteOpen(runtime, db, 9),
    (db) => updateSiteOpen(runtime, db, 9),
    (db) =>
      updateSiteCopy(runtime, db, 9, {
        name: "Newer",
        status: "closed",
        revision: 3,
        firstChatId: 5,
        retentionDays: 30,
      }),
    (db) =>
      updateSiteCopy(runtime, db, 9, {
        name: "Older",
        status: "open",
        revision: 2,
        firstChatId: 7,
        retentionDays: null,
      }),
    (db) => selectSite(db, 9),
    (db) => selectSite(db, 99),
    (db) => selectSites(db, 0, 10),
    (db) => selectSites(db, 7, 10, 8),
    (db) => countSitesByHome(db),
  ),
  "a home's sites are made, changed and found": onHome(
    (db) => insertHomeSite(runtime, db, { siteId: 9, name: "New", chatIdFloor: 4, createdAt: NOW }, author),
    (db) => insertHomeSite(runtime, db, { siteId: 9, name: "New", chatIdFloor: 4, createdAt: NOW }, author),
    (db) => insertHomeSite(runtime, db, { siteId: 9, name: "Other", chatIdFloor: 4, createdAt: NOW }, author),
    threeSessions,
    (db) => updateHomeSite(runtime, db, KNOWN, { name: "It's", status: "closed", chatIdFloor: 10 }, author),
    (db) => updateHomeSite(runtime, db, KNOWN, { status: "open", chatIdFloor: 9 }, author),
    (db) => updateHomeSite(runtime, db, KNOWN, {}, author),
    (db) => updateHomeSite(runtime, db, NEWER, { chatIdFloor: 12 }, author),
    (db) => updateHomeSite(runtime, db, NEWER, { events: false }, author),
    (db) => updateHomeSite(runtime, db, NEWER, { retentionDays: 30 }, author),
    (db) => updateHomeSite(runtime, db, NEWER, { retentionDays: null }, author),
    (db) => updateHomeSite(runtime, db, { ...KNOWN, siteId: 99 }, { name: "None" }, author),
    (db) => selectHomeSite(db, 7),
    (db) => selectHomeSite(db, 99),
    (db) => probeHome(db),
  ),
  "routes are made once and found": onHome(
    (db) => reserveRoute(runtime, db, { appid: "new", siteId: 7, reservation: "a", name: "N" }, author),
    (db) => reserveRoute(runtime, db, { appid: "new", siteId: 7, reservation: "b", name: "N" }, author),
    (db) => reserveRoute(runtime, db, { appid: "new", siteId: 8, reservation: "c", name: "N" }, author),
    (db) =>
      errorOf(() => reserveRoute(runtime, db, { appid: "other", siteId: 99, reservation: "d", name: "N" }, author)),
    (db) => selectRouteToRelease(runtime, db, "new"),
    (db) => selectRouteToRelease(runtime, db, "none"),
    (db) => selectRoute(runtime, db, APP.appid),
    (db) => selectRoute(runtime, db, "new"),
    (db) => selectRoute(runtime, db, "none"),
    (db) => deleteRoute(runtime, db, { appid: "new", siteId: 7, reservation: "a.1", home: "main" }, author),
    (db) => deleteRoute(runtime, db, { appid: "new", siteId: 7, reservation: "b.1", home: "main" }, author),
    (db) => deleteRoute(runtime, db, { appid: APP.appid, siteId: 7, reservation: null, home: "main" }, author),
    (db) => selectAuditEntries(db, {}, Number.MAX_SAFE_INTEGER, 10),
    (db) => selectAuditEntries(db, AUDIT_FILTER, Number.MAX_SAFE_INTEGER, 10),
  ),
  "console sessions and forms": onHome(
    (db) => insertConsoleSession(runtime, db, SESSION, author),
    (db) => insertConsoleSession(runtime, db, { ...SESSION, expiresAt: NOW + 99 }, author),
    (db) => insertConsoleSession(runtime, db, PERSONS, author),
    (db) => selectConsoleSession(runtime, db, "s", NOW),
    (db) => selectConsoleSession(runtime, db, "s", NOW + 9),
    (db) => updateSessionUsed(db, "s", NOW + 1),
    (db) => selectConsoleSessions(db, NOW, undefined, 10),
    (db) => selectConsoleSessions(db, NOW, "root", 10),
    (db) => insertForm(runtime, db, { id: "f", sessionId: "s", expiresAt: NOW + 9 }),
    (db) => insertForm(runtime, db, { id: "f", sessionId: "s", expiresAt: NOW + 9 }),
    (db) => updateForm(runtime, db, "f", "/done"),
    (db) => insertForm(runtime, db, { id: "f", sessionId: "s", expiresAt: NOW + 9 }),
    (db) => insertForm(runtime, db, { id: "g", sessionId: "s", expiresAt: NOW + 9 }),
    (db) => deleteForm(runtime, db, "g"),
    (db) => updateSessionEnded(runtime, db, SESSION, "operator.signed_out", author),
    (db) => updateSessionEnded(runtime, db, PERSONS, "operator.session_ended", author),
    (db) => updateSessionEnded(runtime, db, PERSONS, "operator.session_ended", author),
    (db) => selectConsoleSession(runtime, db, "s", NOW),
    (db) => selectConsoleSession(runtime, db, "p", NOW),
    (db) => selectAuditEntries(db, {}, Number.MAX_SAFE_INTEGER, 10),
    (db) => selectAuditEntries(db, AUDIT_FILTER, Number.MAX_SAFE_INTEGER, 10),
  ),
  "tokens for programs": onHome(
    (db) => insertToken(runtime, db, TOKEN, author),
    (db) => insertToken(runtime, db, TOKEN, author),
    (db) => selectToken(db, TOKEN, {}),
    (db) => selectToken(db, TOKEN, { siteId: 7, appid: APP.appid }),
    (db) => selectToken(db, { ...TOKEN, hash: "other" }, {}),
    (db) => updateTokenUsed(db, TOKEN.id, NOW),
    (db) => selectTokens(db, "", 10),
    (db) => selectTokens(db, TOKEN.id, 10),
    (db) => updateTokenDeleted(runtime, db, TOKEN.id, author),
    (db) => updateTokenDeleted(runtime, db, TOKEN.id, author),
    (db) => selectToken(db, TOKEN, {}),
    (db) => insertAuditOncePerHour(db, author, ROOT_READ, NOW),
    (db) => insertAuditOncePerHour(db, author, ROOT_READ, NOW),
    (db) => insertAuditOncePerHour(db, { ...author, address: null }, ROOT_READ, NOW),
    (db) => insertAudit(db, author, { siteId: null, action: "operator.refused", subject: "", details: { count: 2 } }),
    (db) => selectAuditEntries(db, {}, Number.MAX_SAFE_INTEGER, 10),
    (db) => selectAuditEntries(db, AUDIT_FILTER, Number.MAX_SAFE_INTEGER, 10),
  ),
  "a run of prune in chunks, and a second one": onHome(expired, pruned, everything, pruned),
  "what reconciles a restored home": onHome(
    threeSessions,
    async (db) => {
      await db.prepare("INSERT INTO sites VALUES (9, 'Lost', 'main', 50, 'open', 1, 3, 0, NULL)").run();
      await db.prepare("UPDATE sites SET revision = 4, name = 'Newer' WHERE id = 7").run();
      await db.prepare("INSERT INTO app_routes VALUES ('lost', 9, NULL)").run();
    },
    (db) => copySitesToHome(db, "main", db, 0),
    (db) => reconciledAt(db, RECONCILIATION),
    (db) => skipIds(db, RECONCILIATION, REMEMBERED, author),
    (db) => skipIds(db, RECONCILIATION, REMEMBERED, { ...author, now: NOW + 9 }),
    (db) => reconciledAt(db, RECONCILIATION),
    (db) => copySitesToHome(db, "main", db, 7),
    (db) => selectFloors(db),
    async (db) => keepInDirectory(db, RECONCILIATION, await selectFloors(db), author),
    async (db) => selectAppsOf(db, await selectRoutesAfter(db, "main", "", 9)),
    async (db) => {
      await db.batch([db.prepare("DELETE FROM app_routes"), db.prepare("DELETE FROM sites WHERE id <> 7")]);
    },
    async (db) => selectUnroutedOf(db, "main", await selectAppsAfter(db, { siteId: 0, appid: "" }, 9)),
    (db) => copySitesToDirectory(db, "main", db),
    (db) => copyRoutesToDirectory(db, "main", db),
    async (db) => selectUnroutedOf(db, "main", await selectAppsAfter(db, { siteId: 0, appid: "" }, 9)),
    (db) => noteCopied(db, "s", "apac", NOW),
    async (db) =>
      (
        await notCopied(db, "s", [
          ["apac", db],
          ["eu", db],
        ])
      ).map(([name]) => name),
    everything,
  ),
};
