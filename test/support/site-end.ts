import { env } from "cloudflare:workers";
import { SESSION_EVENT_TYPES } from "../../src/core/operations/index.ts";
import { systemRuntime } from "../../src/core/runtime.ts";
import { prune } from "../../src/operators/store/pruning/prune.ts";
import { pruneDeletedSites, pruneEndedSites } from "../../src/operators/store/pruning/prune-deleted-sites.ts";
import { pruneSessions } from "../../src/operators/store/pruning/prune-sessions.ts";
import { CALL_RULES } from "../../src/operators/usage/call-rules.ts";
import { type AdminAnswer, call } from "./admin-calls.ts";
import { keepSiteIds } from "./time-travel.ts";
import type { World } from "./world.ts";

export const DAY = 86_400;

const HOMES = new Map([
  ["main", env.DB],
  ["apac", env.HOME_APAC],
]);

type Limits = Partial<Parameters<typeof prune>[3]>;
type Settings = Partial<Parameters<typeof prune>[1]>;

/** Runs the cron's pruning once over all homes. */
export async function pruneAt(now: number, limits: Limits = {}, homes = HOMES, settings: Settings = {}) {
  const deployment = {
    directory: homes.get("main") ?? env.DB,
    homes,
    closedHomes: new Set<string>(),
    eventRetentionDays: 3_650,
    journalDays: 30,
    auditDays: 730,
    sessionEventTypes: SESSION_EVENT_TYPES,
    callRules: CALL_RULES,
    ...settings,
  };
  return prune(systemRuntime, deployment, now, { chunkRows: 1_000, statements: 900, ...limits });
}

/** Prunes in a whole run. A second look at ended sites then deletes the usage that the run has counted for them. */
export async function pruneAll(now: number): Promise<void> {
  const { faults, next } = await pruneAt(now);
  if (next !== undefined || Object.keys(faults).length > 0) throw new Error(JSON.stringify({ next, faults }));
  await pruneEnded(now);
}

const runAt = (now: number) => {
  const limits = {
    chunkRows: 1_000,
    statementsLeft: 900,
    sessionEventTypes: SESSION_EVENT_TYPES,
    callRules: CALL_RULES,
  };
  return { runtime: systemRuntime, now, keptUntil: 0, journalKeptUntil: 0, auditKeptUntil: 0, ...limits };
};

/** Runs only the part of the cron that ends sites. A whole run sends four times as many queries. */
export async function pruneEnded(now: number, homes = HOMES): Promise<void> {
  const directory = homes.get("main") ?? env.DB;
  for (const [home, db] of homes) await Array.fromAsync(pruneDeletedSites(runAt(now), db, { home, directory }));
  await Array.fromAsync(pruneEndedSites(runAt(now), directory));
}

/** Runs only the part of the cron that deletes old sessions. */
export async function pruneOld(now: number): Promise<void> {
  for (const [home, db] of HOMES) await Array.fromAsync(pruneSessions(runAt(now), db, { home }));
}

/**
 * Deletes what settling a home would find from earlier tests: ends of sites, receipts, and all of KV except the key of the hashes.
 */
export async function forgetKept(): Promise<void> {
  await keepSiteIds();
  for (const kv of [env.CREDENTIALS, env.NONCES]) {
    const names = (await kv.list()).keys.map(({ name }) => name);
    await Promise.all(names.map((name) => name.startsWith("customer-hash-key:") || kv.delete(name)));
  }
  for (const db of HOMES.values()) {
    await db.batch(["site_deletions", "erasure_receipts"].map((table) => db.prepare(`DELETE FROM ${table}`)));
  }
}

export const sitePath = ({ siteId }: { siteId: number }) => `/admin/sites/${siteId}`;
export const patchSite = (world: World, body: unknown): Promise<AdminAnswer> =>
  call(world, "PATCH", sitePath(world), body);
export const readSite = async (world: World) =>
  (await call(world, "GET", sitePath(world))).body as Record<string, unknown>;
/** Sends the deletion of a site, by default with the name of a new site. */
export const deleteSite = (world: World, name = "Site"): Promise<AdminAnswer> =>
  call(world, "DELETE", sitePath(world), { name });

export async function endSite(world: World): Promise<AdminAnswer> {
  await patchSite(world, { status: "closed" });
  return deleteSite(world);
}

/** The tables whose rows stay for ever, for 31 days or for a day: docs/operating/data-and-restore.md, "Deleting a site". */
const KEPT_TABLES = /\.(audit_log|site_deletions|app_routes|admin_tokens|people)$/;

/** The tables of all databases with rows of a site, without the tables whose rows stay. */
export const tablesLeft = async (site: { siteId: number }): Promise<string[]> =>
  (await tablesWith(site)).filter((table) => !KEPT_TABLES.test(table));

/** The tables of all databases with rows of a site. `sites` has another column for its id. */
export async function tablesWith({ siteId }: { siteId: number }): Promise<string[]> {
  const findings: string[] = [];
  for (const [home, db] of HOMES) {
    const query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%`site_id` integer%' ORDER BY 1";
    const { results: tables } = await db.prepare(query).all<{ name: string }>();
    const first = ({ name }: { name: string }) =>
      db.prepare(`SELECT 1 FROM ${name} WHERE site_id = ? LIMIT 1`).bind(siteId);
    const rows = await db.batch(tables.map(first));
    findings.push(...tables.filter((_, i) => rows[i]?.results.length === 1).map(({ name }) => `${home}.${name}`));
  }
  return findings;
}
