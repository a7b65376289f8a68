import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { seedAgents } from "./big-world/agents.ts";
import { seedApps } from "./big-world/apps.ts";
import { seedAudit } from "./big-world/audit.ts";
import { type SeededRefusal, seedJournal, seedUsage } from "./big-world/calls.ts";
import { seedOperators } from "./big-world/operators.ts";
import { customerOf, seedSessions } from "./big-world/sessions.ts";
import { seedHomes, seedOtherSites } from "./big-world/sites.ts";
import { type SeededWebhooks, seedWebhooks } from "./big-world/webhooks.ts";

/** A deployment that has been in use for weeks, at the time SHOWN. Its clock stands still. */
export interface BigWorld {
  worker: BuiltWorker;
  /** The database of the home `main`. */
  db: D1Database;
  /** The id of the busy site, which is in `main`. */
  siteId: number;
  /** The paths of the sites' pages in the console. */
  sites: Record<"busy" | "closed" | "unfinished" | "empty" | "ended", string>;
  apps: Awaited<ReturnType<typeof seedApps>>;
  webhooks: SeededWebhooks;
  /** Refused calls, the newest first. */
  refusals: SeededRefusal[];
  /** The ids of two completed erasures. */
  erasures: string[];
  token: string;
  /** The id of a person with a token. */
  person: string;
  close: () => Promise<void>;
}

/**
 * Fills the console for pictures and for the rules that all pages keep. It has sites in each state in two homes, and a busy site with
 * 300 sessions, 150 agents, eight apps, webhooks in each state, a full journal, 14 days of usage and a long audit log. Things with a
 * secret are made by calls. Things in large numbers or with an earlier time are inserted.
 */
export async function startBigWorld(): Promise<BigWorld> {
  const worker = await startBuiltWorker({
    homes: ["DB", "HOME_APAC"],
    main: "test/browser/worker-for-pictures.ts",
    vars: { WEBHOOK_LOOPBACK: "allow" },
  });
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
  // This follows the erasures, because their events would wake the queue, which would begin to post.
  const webhooks = await seedWebhooks(admin, db, siteId);
  const sites = { busy: `/console/sites/${siteId}`, ...(await seedOtherSites(admin, db)) };
  const { token, person } = await seedOperators(admin, db, siteId);
  await seedHomes(db);
  await seedAudit(db, siteId, { appids, webhooks: Object.values(webhooks) });
  return { worker, db, siteId, sites, apps, webhooks, refusals, erasures, token, person, close: worker.close };
}
