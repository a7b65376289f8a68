import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { writeRecord } from "../../src/core/credentials/kv-records.ts";
import { importKeyring, seal } from "../../src/core/credentials/sealed-secret.ts";
import { systemRuntime } from "../../src/core/runtime.ts";
import { agents, appRoutes, apps, homeSites, sites } from "../../src/core/store/schema.ts";
import { newAppid, newSecret, newVersion } from "../../src/operators/services/secrets.ts";
import { writeSiteId } from "../../src/operators/store/kv-floors.ts";
import { auditLog } from "../../src/operators/store/operator-schema.ts";
import { databaseOf } from "./homes.ts";
import { keptTelemetry, NOW } from "./test-runtime.ts";

export interface Site {
  siteId: number;
  home: string;
  appid: string;
  secret: string;
}

const keyring = importKeyring([Uint8Array.fromBase64(env.MASTER_KEY)]);
const { telemetry } = keptTelemetry();

/** The next id: above each id that was ever given, as in the admin API. */
const nextSiteId = sql`(SELECT max(id) + 1 FROM (
  SELECT 0 AS id
  UNION ALL SELECT max(id) FROM sites
  UNION ALL SELECT max(site_id) FROM site_deletions
  UNION ALL SELECT max(site_id_floor) FROM settlings
))`;

/**
 * A new site with an app in a home, and with agents 1, 2 and 3 in normal status and 4 disabled. It has the rows that the admin API
 * would store at NOW, but takes half the time. new-site.test.ts compares the two. Bindings that a test has replaced see no call.
 */
export async function newSite(home = "main"): Promise<Site> {
  const [appid, secret, version] = [newAppid(systemRuntime), newSecret(systemRuntime), newVersion(systemRuntime)];
  const at = { createdAt: NOW };
  const directory = drizzle(env.DB);
  const siteRow = { id: nextSiteId, name: "Site", home, firstChatId: 1, status: "open" as const, revision: 0, ...at };
  const { id: siteId } = await directory.insert(sites).values(siteRow).returning({ id: sites.id }).get();
  const sealed = await seal(systemRuntime, await keyring, { siteId, appid, version }, "current", secret);
  const entry = {
    siteId,
    at: NOW,
    actor: "admin-api",
    whoKind: "root",
    whoId: "root",
    whoName: "ADMIN_TOKEN",
  } as const;
  const [siteCall, appCall] = [
    { ...entry, requestId: systemRuntime.uuid(), subject: `${siteId}` },
    { ...entry, requestId: systemRuntime.uuid(), subject: appid },
  ];
  const insertAuditRows = (rows: (typeof auditLog.$inferInsert)[], db: typeof directory) =>
    db.insert(auditLog).values(rows);
  const own = drizzle(databaseOf(home));
  const agent = (id: number) =>
    ({ siteId, id, name: `Agent ${id}`, status: id === 4 ? "disabled" : "normal" }) as const;
  const none = { previousVersion: null, previousSecret: null, previousExpiresAt: null, revokedAt: null };
  await Promise.all([
    directory.batch([
      directory.insert(appRoutes).values({ appid, siteId, reservation: `${systemRuntime.uuid()}.1` }),
      insertAuditRows(
        [
          { ...siteCall, action: "site.begun", details: JSON.stringify({ name: "Site", home, first_chat_id: 1 }) },
          { ...appCall, action: "app.routed", details: JSON.stringify({ name: "App" }) },
        ],
        directory,
      ),
    ]),
    own.batch([
      own.insert(homeSites).values({ siteId, name: "Site", status: "open", chatIdFloor: 0, revision: 0, ...at }),
      own.insert(apps).values({ siteId, appid, name: "App", version, secret: sealed, ...at }),
      own.insert(agents).values([1, 2, 3, 4].map(agent)),
      insertAuditRows(
        [
          { ...siteCall, action: "site.created", details: JSON.stringify({ name: "Site", first_chat_id: 1 }) },
          { ...appCall, action: "app.issued", details: JSON.stringify({ name: "App", imported: [] }) },
        ],
        own,
      ),
    ]),
    writeRecord(env.CREDENTIALS, { siteId, appid, home, version, secret: sealed, events: false, ...none }, telemetry),
    writeSiteId(env.CREDENTIALS, siteId),
  ]);
  return { siteId, home, appid, secret };
}

/**
 * Changes a site of `apac` so that it is in the directory but not yet in its home. It gets its own name, because the admin API
 * would finish it when asked for a site of the same name.
 */
export async function unfinishSite({ siteId }: { siteId: number }): Promise<void> {
  const begin = "UPDATE sites SET status = 'creating', home = 'apac', name = 'Unfinished ' || id WHERE id = ?";
  await env.DB.prepare(begin).bind(siteId).run();
}
