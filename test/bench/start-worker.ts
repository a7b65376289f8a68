import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import type { Notice } from "../../src/config.ts";
import { bindingOfHome } from "../../src/homes.ts";
import { AGENTS, APP, appidOf } from "./bench-app.ts";
import { type ProductionBundle, ROOT } from "./production-bundle.ts";

export interface RunningWorker {
  url: string;
  /** Process id of workerd. */
  pid: number;
  /** The database of the home `main`, which is also the directory. */
  db: D1Database;
  credentials: KVNamespace;
  nonces: KVNamespace;
  /** The Worker's queue. */
  queue: Queue<Notice>;
  close: () => Promise<void>;
}

/** A module of a Worker; the first of a list is its entry. */
export interface WorkerModule {
  name: string;
  code: string;
}

/** A Worker file of this folder, with its types stripped. */
export function benchModule(name: string): WorkerModule {
  return { name, code: stripTypeScriptTypes(readFileSync(join(import.meta.dirname, name), "utf8")) };
}

const running = new Set<RunningWorker>();
const storages: string[] = [];
process.on("exit", () => {
  for (const storage of storages) rmSync(storage, { recursive: true, force: true });
});

/**
 * Starts modules in their own workerd, with a fresh local D1 and KV, all migrations applied, a site and its agents. No
 * proxy stands between the caller and the Worker.
 *
 * @param homes    homes in addition to `main`, which has site 1; the first of them has site 2, and so on
 * @param consumes   whether the Worker consumes its own queues
 * @param hasJournal whether the queue of the journal is bound
 */
export async function startWorker(
  bundle: ProductionBundle,
  modules: WorkerModule[],
  bindings: Record<string, unknown> = {},
  homes: readonly string[] = [],
  consumes = true,
  hasJournal = true,
): Promise<RunningWorker> {
  const { miniflare, url, pid } = await launch(
    convertV4MiniflareOptions({
      modules: modules.map(({ name, code }) => ({ type: "ESModule", path: name, contents: code })),
      modulesRoot: ".",
      compatibilityDate: bundle.compatibilityDate,
      compatibilityFlags: bundle.compatibilityFlags,
      bindings: {
        ...bundle.vars,
        MASTER_KEY: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64"),
        ADMIN_TOKEN,
        ...bindings,
      } as Record<string, string>,
      d1Databases: { DB: "bench", ...Object.fromEntries(homes.map((home) => [bindingOfHome(home), home])) },
      kvNamespaces: { NONCES: "nonces", CREDENTIALS: "credentials" },
      queueProducers: { EVENTS: "events", ...(hasJournal && { JOURNAL: "journal" }) },
      queueConsumers: consumes
        ? {
            events: { maxBatchSize: bundle.messagesAtOnce, maxBatchTimeout: 0 },
            ...(hasJournal && { journal: { maxBatchSize: bundle.messagesAtOnce, maxBatchTimeout: 1 } }),
          }
        : {},
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      cf: false,
      resourcePersistencePath: temporaryFolder(),
      handleStructuredLogs: logged,
    }),
  );
  const worker: RunningWorker = {
    url,
    pid,
    db: (await miniflare.getD1Database("DB")) as unknown as D1Database,
    credentials: (await miniflare.getKVNamespace("CREDENTIALS")) as unknown as KVNamespace,
    nonces: (await miniflare.getKVNamespace("NONCES")) as unknown as KVNamespace,
    queue: (await miniflare.getQueueProducer("EVENTS")) as unknown as Queue<Notice>,
    close: async () => {
      running.delete(worker);
      await miniflare.dispose();
    },
  };
  running.add(worker);
  await provision(worker.db, { id: 1, home: "main" });
  for (const [place, home] of homes.entries()) {
    const db = (await miniflare.getD1Database(bindingOfHome(home))) as unknown as D1Database;
    await provision(db, { id: place + 2, home }, worker.db);
  }
  return worker;
}

/** Starts a workerd, and finds its process id and its own address, without the proxy. */
export async function launch(
  options: ConstructorParameters<typeof Miniflare>[0],
): Promise<{ miniflare: Miniflare; url: string; pid: number }> {
  const before = childrenNamedWorkerd();
  const miniflare = new Miniflare(options);
  await miniflare.ready;
  const pid = childrenNamedWorkerd().find((each) => !before.includes(each)) ?? 0;
  return { miniflare, pid, url: (await miniflare.unsafeGetDirectURL()).origin };
}

/**
 * A folder that is deleted when the bench ends. It is in memory if the system has /dev/shm: disk flushes would dominate
 * every measurement.
 */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "agent-session-bench-"));
  storages.push(folder);
  return folder;
}

export const ADMIN_TOKEN = "bench-admin-token-0123456789abcdef-xyz";

/** Calls the admin API of the production Worker for a site. */
export async function adminCall(url: string, method: string, path: string, body: unknown): Promise<void> {
  const answer = await fetch(`${url}/admin/sites/${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
}

/** Issues a site's app through the admin API, which seals its secret. */
export const issueApp = (url: string, siteId: number = APP.siteId): Promise<void> =>
  adminCall(url, "POST", `${siteId}/apps`, { name: "Bench", appid: appidOf(siteId), secret: APP.secret });

/** Stores the same app for a Worker that does not seal secrets. */
export async function insertApp(db: D1Database): Promise<void> {
  const { appid, siteId, version } = APP;
  await db.batch([
    db.prepare("INSERT INTO app_routes (appid, site_id) VALUES (?, ?)").bind(appid, siteId),
    db
      .prepare("INSERT INTO apps (site_id, appid, name, version, secret, created_at) VALUES (?, ?, 'Bench', ?, '', 0)")
      .bind(siteId, appid, version),
  ]);
}

/** Stops all workers that still run. */
export async function closeAll(): Promise<void> {
  await Promise.all([...running].map((worker) => worker.close()));
}

/** @param directory the directory's database, when it is not `db` */
async function provision(db: D1Database, site: { id: number; home: string }, directory = db): Promise<void> {
  const folder = join(ROOT, "migrations");
  const files = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  const statements = files
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split(/--> statement-breakpoint/));
  await db.batch(statements.filter((text) => text.trim() !== "").map((text) => db.prepare(text)));
  await addSite(db, site, directory);
}

/**
 * Adds a site with its agents to a home.
 *
 * @param directory the directory's database, when it is not `db`
 */
export async function addSite(db: D1Database, site: { id: number; home: string }, directory = db): Promise<void> {
  await db.batch([
    db
      .prepare(
        "INSERT INTO home_sites (site_id, name, status, chat_id_floor, revision, created_at) VALUES (?, 'Bench', 'open', 0, 0, 0)",
      )
      .bind(site.id),
    db
      .prepare("INSERT INTO agents (site_id, id, name, status) SELECT ?, value, 'Agent', 'normal' FROM json_each(?)")
      .bind(site.id, JSON.stringify(AGENTS)),
  ]);
  await directory
    .prepare(
      "INSERT INTO sites (id, name, home, status, first_chat_id, revision, created_at) VALUES (?, 'Bench', ?, 'open', 1, 0, 0)",
    )
    .bind(site.id, site.home)
    .run();
}

/** Drops the request lines and shows all other errors. Some measurements leave NONCES unbound on purpose. */
function logged({ level, message }: { level: string; message: string }): void {
  if (/NONCES is not bound|JOURNAL is not bound/.test(message)) return;
  if (level === "error" || level === "warn") process.stderr.write(`workerd: ${message.slice(0, 500)}\n`);
}

/**
 * CPU that a process's threads have used so far, in milliseconds; NaN without /proc. It reads `schedstat`, which counts
 * nanoseconds: the ticks of `stat` last 10 ms, too long for a round of requests that takes a few ticks.
 */
export function cpuMs(pid: number): number {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const spent = tasks.map((task) =>
      Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]),
    );
    return spent.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e6;
  } catch {
    return Number.NaN;
  }
}

function childrenNamedWorkerd(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && isOwnWorkerd(name))
      .map(Number);
  } catch {
    return [];
  }
}

function isOwnWorkerd(pid: string): boolean {
  try {
    return statOf(pid)[1] === String(process.pid) && readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("workerd");
  } catch {
    return false;
  }
}

/** Fields of /proc/<pid>/stat from the third on. The second field, the name, may contain blanks. */
function statOf(pid: string): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
