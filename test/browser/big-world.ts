import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { seedAgents } from "./big-world/agents.ts";
import { seedApps } from "./big-world/apps.ts";
import { seedAudit } from "./big-world/audit.ts";
import { type SeededRefusal, seedJournal, seedUsage } from "./big-world/calls.ts";
import { seedOperators } from "./big-world/operators.ts";
import { customerOf, seedSessions } from "./big-world/sessions.ts";
import { seedHomes, seedOtherSites } from "./big-world/sites.ts";
import { type SeededWebhooks, seedWebhooks } from "./big-world/webhooks.ts";

/** A deployment that has been in use for weeks, seen at the time SHOWN. Its clock stands still. */
export interface BigWorld {
  worker: BuiltWorker;
  /** The database of the home `main`. */
  db: D1Database;
  /** The busy site, in `main`. */
  siteId: number;
  /** The paths of the pages of each site in the console. */
  sites: Record<"busy" | "closed" | "unfinished" | "empty" | "ended", string>;
  apps: Awaited<ReturnType<typeof seedApps>>;
  webhooks: SeededWebhooks;
  /** Refused calls, the newest first. */
  refusals: SeededRefusal[];
  /** The ids of two erasures that are done. */
  erasures: string[];
  /** The id of a token. */
  token: string;
  close: () => Promise<void>;
}

/**
 * The console with much to look at, for pictures and for the rules that every page keeps: sites in each state over two homes; a busy one
 * with 300 sessions, 150 agents, eight apps, webhooks in each state of health, a full journal, usage of 14 days and a long audit log. What
 * needs a secret is made by calls. What needs volume or an earlier time is inserted.
 */
export async function startBigWorld(): Promise<BigWorld> {
  const worker = await startBuiltWorker({ homes: ["DB", "HOME_APAC"], main: "test/browser/worker-for-pictures.ts" });
  const { admin } = worker;
  const [db, apac] = [worker.env.DB, (worker.env as unknown as Record<string, D1Database>).HOME_APAC];
  if (db === undefined || apac === undefined) throw new Error("a home is not bound");
  const { id: siteId } = await admin<{ id: number }>("POST", "/admin/sites", { name: "Northwind Store" });
  const agents = await seedAgents(db, siteId);
  const apps = await seedApps(admin, db, siteId);
  const appids = apps.active.map(({ appid }) => appid);
  await seedSessions(db, siteId, appids, agents);
  const refusals = await seedJournal(db, siteId, appids);
  await seedUsage(db, siteId, apps.active);
  const erasures: string[] = [];
  for (const sbs of [customerOf(100), customerOf(101)]) {
    const path = `/admin/sites/${siteId}/customers/erase`;
    erasures.push((await admin<{ erasure_id: string }>("POST", path, { sbs })).erasure_id);
  }
  // After the erasures, whose events would wake the queue: it would begin to post.
  const webhooks = await seedWebhooks(admin, db, siteId);
  const sites = { busy: `/console/sites/${siteId}`, ...(await seedOtherSites(admin, db)) };
  const token = await seedOperators(admin, db, siteId);
  await seedHomes(db);
  await seedAudit(db, siteId, { appids, webhooks: Object.values(webhooks) });
  return { worker, db, siteId, sites, apps, webhooks, refusals, erasures, token, close: worker.close };
}
