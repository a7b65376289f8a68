import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { buildProductionBundle, ROOT } from "../bench/production-bundle.ts";

/** An app with its secret, so that tests can sign for it. */
export interface SignedApp {
  siteId: number;
  appid: string;
  secret: string;
}

/**
 * The deployed Worker, in a workerd that can be killed and started again on the same state. It has the homes `main` and `apac`.
 * workerd itself sends its requests to receivers.
 */
export class CrashableWorker {
  readonly folder = mkdtempSync(join(tmpdir(), "agent-session-crash-"));
  readonly #adminToken = randomBytes(24).toString("hex");
  #running: { url: string; process: ChildProcess; lines: Interface } | undefined;

  readonly #settings: Record<string, unknown> & { bindings: Record<string, string> };

  /** @param own vars in addition to those of wrangler.toml */
  constructor(own: Record<string, string> = {}) {
    const { code, compatibilityDate, vars } = buildProductionBundle();
    const secrets = { MASTER_KEY: randomBytes(32).toString("base64"), ADMIN_TOKEN: this.#adminToken };
    const flags = /^compatibility_flags = (\[.*\])$/m.exec(readFileSync(join(ROOT, "wrangler.toml"), "utf8"))?.[1];
    writeFileSync(join(this.folder, "worker.js"), code);
    this.#settings = {
      compatibilityDate,
      compatibilityFlags: JSON.parse(flags ?? "[]"),
      bindings: { ...vars, ...secrets, ...own },
    };
  }

  get url(): string {
    return this.#running?.url ?? "";
  }

  /**
   * Starts the Worker, or starts it again on the state of a killed one.
   *
   * @param options `queueSeconds`: how long the queue holds messages before it delivers them; `vars`: only for this start
   */
  async start({ queueSeconds = 0, vars = {} }: { queueSeconds?: number; vars?: Record<string, string> } = {}) {
    const bindings = { ...this.#settings.bindings, ...vars };
    writeFileSync(join(this.folder, "settings.json"), JSON.stringify({ ...this.#settings, bindings, queueSeconds }));
    // The child ends when its standard input closes. So it never outlives this process.
    const child = spawn(process.execPath, [join(import.meta.dirname, "crashable-worker.ts"), this.folder], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout });
    this.#running = { url: "", process: child, lines };
    const { url } = JSON.parse(await lineOf(lines, '{"url"')) as { url: string };
    this.#running.url = url;
  }

  /** Kills workerd, and then the process that started it, which would start workerd again. @returns workerd's pids */
  async kill(): Promise<number[]> {
    if (this.#running === undefined) return [];
    const { process: parent } = this.#running;
    this.#running = undefined;
    if (parent.exitCode !== null) return [];
    const exit = new Promise((resolve) => parent.once("exit", resolve));
    const pids = workerdsOf(parent.pid ?? 0);
    for (const pid of pids) process.kill(pid, "SIGKILL");
    parent.kill("SIGKILL");
    await exit;
    return pids;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async scheduled(cron: string): Promise<void> {
    if (this.#running === undefined) throw new Error("the Worker does not run");
    const line = lineOf(this.#running.lines, '{"ran"');
    this.#running.process.stdin?.write(`${cron}\n`);
    const { ran: outcome } = JSON.parse(await line) as { ran: string };
    if (outcome !== "ok") throw new Error(`the cron ${cron}: ${outcome}`);
  }

  async admin<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#adminToken}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** Makes a site with an app, and with these agents in normal status. */
  async provision(home: string, agents: number[]): Promise<SignedApp> {
    const { id: siteId } = await this.admin<{ id: number }>("POST", "/admin/sites", { name: "Site", home });
    for (const id of agents) await this.admin("POST", `/admin/sites/${siteId}/agents`, { id, name: `Agent ${id}` });
    return {
      siteId,
      ...(await this.admin<Omit<SignedApp, "siteId">>("POST", `/admin/sites/${siteId}/apps`, { name: "App" })),
    };
  }

  logs(): string {
    const file = join(this.folder, "log");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  /** Calls `look` with each database on disk. It may change them only while the Worker does not run. */
  databases<T>(look: (db: DatabaseSync, file: string) => T, readOnly = true): T[] {
    const databases = join(this.folder, "state/d1/miniflare-D1DatabaseObject");
    const files = readdirSync(databases).filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name));
    return files.map((name) => {
      const file = join(databases, name);
      // A killed Worker may still hold the database for a moment.
      const db = new DatabaseSync(file, { readOnly, timeout: 30_000 });
      try {
        return look(db, file);
      } finally {
        db.close();
      }
    });
  }

  /**
   * Copies the database that holds a site's data. Allowed only while the Worker does not run.
   *
   * @returns a function that restores the copy, as D1's Time Travel does
   */
  bookmark(siteId: number): () => void {
    const holds = (db: DatabaseSync) =>
      db.prepare("SELECT 1 FROM home_sites WHERE site_id = ?").get(siteId) !== undefined;
    const [file = ""] = this.databases((db, file) => (holds(db) ? [file] : [])).flat();
    const parts = ["", "-wal", "-shm"].map((part) => `${file}${part}`);
    const keptFiles = parts.filter((part) => existsSync(part)).map((part) => [part, readFileSync(part)] as const);
    return () => {
      for (const part of parts) rmSync(part, { force: true });
      for (const [part, bytes] of keptFiles) writeFileSync(part, bytes);
    };
  }
}

/** The next line that starts with this text. */
function lineOf(lines: Interface, start: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error("the Worker has ended"));
    const look = (line: string) => {
      if (!line.startsWith(start)) return;
      lines.off("line", look).off("close", ended);
      resolve(line);
    };
    lines.on("line", look).once("close", ended);
  });
}

function workerdsOf(parent: number): number[] {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" });
  const processes = table.split("\n").map((line) => line.trim().split(/\s+/, 3));
  return processes
    .filter(([, ppid, name]) => Number(ppid) === parent && name?.includes("workerd"))
    .map(([pid]) => Number(pid));
}
