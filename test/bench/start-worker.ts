import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { bindingOfHome } from "../../src/core/homes.ts";
import { AGENTS, APP, appidOf } from "./bench-app.ts";
import { type ProductionBundle, ROOT } from "./production-bundle.ts";

export interface RunningWorker {
  url: string;
  /** Process id of workerd. */
  pid: number;
  /** The database of the home `main`, which is also the directory. */
  db: D1Database;
  credentials: KVNamespace;
  close: () => Promise<void>;
}

/** A module of a Worker. The first module in a list is its entry. */
export interface WorkerModule {
  name: string;
  code: string;
}

/** A Worker file of this folder, with its types stripped. */
export function benchModule(name: string): WorkerModule {
  return { name, code: stripTypeScriptTypes(readFileSync(join(import.meta.dirname, name), "utf8")) };
}

const running = new Set<() => Promise<void>>();

export async function closeAll(): Promise<void> {
  await Promise.all([...running].map((close) => close()));
}

/**
 * Starts modules in their own workerd, with a fresh local D1 and KV, all migrations applied, a site and its agents. No proxy is
 * between the caller and the Worker.
 *
 * @param own `homes`: homes in addition to `main`, which has site 1; the first of them has site 2, and so on. `consumes`: whether
 *   the Worker consumes its own queues
 */
export async function startWorker(
  bundle: ProductionBundle,
  modules: WorkerModule[],
  own: { bindings?: Record<string, unknown>; homes?: readonly string[]; consumes?: boolean } = {},
): Promise<RunningWorker> {
  const { bindings = {}, homes = [], consumes = true } = own;
  const { miniflare, ...rest } = await launch(bundle, modules, {
    bindings: {
      ...bundle.vars,
      MASTER_KEY: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64"),
      ADMIN_TOKEN,
      ...bindings,
    } as Record<string, string>,
    d1Databases: { DB: "bench", ...Object.fromEntries(homes.map((home) => [bindingOfHome(home), home])) },
    kvNamespaces: { NONCES: "nonces", CREDENTIALS: "credentials" },
    queueProducers: { EVENTS: "events", JOURNAL: "journal" },
    queueConsumers: consumes
      ? {
          events: { maxBatchSize: bundle.messagesAtOnce, maxBatchTimeout: 0 },
          journal: { maxBatchSize: bundle.messagesAtOnce, maxBatchTimeout: 1 },
        }
      : {},
  });
  const database = async (binding: string) => (await miniflare.getD1Database(binding)) as unknown as D1Database;
  const db = await database("DB");
  const credentials = (await miniflare.getKVNamespace("CREDENTIALS")) as unknown as KVNamespace;
  await provision(db, { id: 1, home: "main" });
  for (const [place, home] of homes.entries()) {
    await provision(await database(bindingOfHome(home)), { id: place + 2, home }, db);
  }
  return { ...rest, db, credentials };
}

/** Starts a workerd, and finds its process id and its own address, without the proxy. */
export async function launch(
  { compatibilityDate, compatibilityFlags }: ProductionBundle,
  modules: WorkerModule[],
  options: object = {},
): Promise<Pick<RunningWorker, "url" | "pid" | "close"> & { miniflare: Miniflare }> {
  const before = childrenNamedWorkerd();
  // In memory if the system has /dev/shm, because disk flushes would dominate each measurement.
  const storage = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "agent-session-bench-"));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: modules.map(({ name, code }) => ({ type: "ESModule", path: name, contents: code })),
      modulesRoot: ".",
      compatibilityDate,
      compatibilityFlags,
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      cf: false,
      resourcePersistencePath: storage,
      handleStructuredLogs: showLog,
      ...options,
    }),
  );
  const close = async () => {
    running.delete(close);
    await miniflare.dispose();
    rmSync(storage, { recursive: true, force: true });
  };
  running.add(close);
  await miniflare.ready;
  const pid = childrenNamedWorkerd().find((each) => !before.includes(each)) ?? 0;
  return { miniflare, pid, close, url: (await miniflare.unsafeGetDirectURL()).origin };
}

const ADMIN_TOKEN = "bench-admin-token-0123456789abcdef-xyz";

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

/**
 * Applies all migrations, and adds a site with its agents.
 *
 * @param directory the directory's database, when it is not `db`
 */
async function provision(db: D1Database, { id, home }: { id: number; home: string }, directory = db): Promise<void> {
  const folder = join(ROOT, "migrations");
  const files = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  const statements = files
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split(/--> statement-breakpoint/));
  await db.batch(statements.filter((text) => text.trim() !== "").map((text) => db.prepare(text)));
  await db.batch([
    db
      .prepare(
        "INSERT INTO home_sites (site_id, name, status, chat_id_floor, revision, created_at) VALUES (?, 'Bench', 'open', 0, 0, 0)",
      )
      .bind(id),
    db
      .prepare("INSERT INTO agents (site_id, id, name, status) SELECT ?, value, 'Agent', 'normal' FROM json_each(?)")
      .bind(id, JSON.stringify(AGENTS)),
  ]);
  await directory
    .prepare(
      "INSERT INTO sites (id, name, home, status, first_chat_id, revision, created_at) VALUES (?, 'Bench', ?, 'open', 1, 0, 0)",
    )
    .bind(id, home)
    .run();
}

/** Drops the request lines and shows all other errors. */
function showLog({ level, message }: { level: string; message: string }): void {
  if (level === "error" || level === "warn") process.stderr.write(`workerd: ${message.slice(0, 500)}\n`);
}

/**
 * CPU time that a process's threads have used so far, in milliseconds. It reads `schedstat`, which counts nanoseconds. `stat`
 * counts ticks of 10 ms, which are too long for a round of requests.
 */
export function cpuMs(pid: number): number {
  const times = readdirSync(`/proc/${pid}/task`).map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]),
  );
  return times.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e6;
}

function childrenNamedWorkerd(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isOwnWorkerd(name))
    .map(Number);
}

function isOwnWorkerd(pid: string): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return parent === String(process.pid) && readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("workerd");
  } catch {
    // The process has ended since it was listed.
    return false;
  }
}
