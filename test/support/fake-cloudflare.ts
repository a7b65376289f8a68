import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { type Call, failure, type Reply } from "./fake-api.ts";
import { FakeQueues } from "./fake-queues.ts";
import {
  bindingsOf,
  emptyWorker,
  type FakeWorker,
  type Metadata,
  patchBindings,
  setSecrets,
  uploadWorker,
} from "./fake-workers.ts";

interface FakeDatabase {
  uuid: string;
  name: string;
  location: string | undefined;
  jurisdiction: string | undefined;
  /** The database's content. SQL really runs on it. */
  data: DatabaseSync;
  /** The database's error. While it is set, no SQL runs. */
  fault?: string | undefined;
}

/**
 * The part of the Cloudflare API that a deployment uses, on its own port. It has one account, and remembers changes. Other calls
 * get a 404 and are recorded in `unknown`, so that a test notices when wrangler asks for more.
 */
export class FakeCloudflare {
  readonly accountId = "0123456789abcdef0123456789abcdef";
  /** The databases, by name. */
  readonly databases = new Map<string, FakeDatabase>();
  /** The titles of KV namespaces, by id. */
  readonly namespaces = new Map<string, string>();
  readonly workers = new Map<string, FakeWorker>();
  readonly queues = new FakeQueues();
  readonly calls: string[] = [];
  readonly unknown: string[] = [];
  /** Gives another answer than the usual one to a call such as "PATCH /workers/scripts/NAME/settings". */
  refuse: ((call: string) => Reply | undefined) | undefined;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(): Promise<FakeCloudflare> {
    const fake = new FakeCloudflare();
    await new Promise<void>((resolve) => fake.#server.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  /** The variables that make wrangler use this API instead of the real one. */
  get environment(): Record<string, string> {
    const { port } = this.#server.address() as AddressInfo;
    return {
      CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}/client/v4`,
      CLOUDFLARE_API_TOKEN: "fake-token",
      CLOUDFLARE_ACCOUNT_ID: this.accountId,
    };
  }

  /** Makes the state after `wrangler secret put`: an empty Worker that does not serve. */
  addWorker(name: string, secrets: string[]): void {
    this.workers.set(name, emptyWorker(new Set(secrets)));
  }

  /** Adds a database that lists these migrations as applied, without their tables. */
  addDatabase(name: string, migrations: readonly string[]): FakeDatabase {
    const database = emptyDatabase(name);
    database.data.exec("CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE)");
    const insert = database.data.prepare("INSERT INTO d1_migrations (name) VALUES (?)");
    for (const migration of migrations) insert.run(migration);
    this.databases.set(name, database);
    return database;
  }

  /** Renames databases, namespaces, queues and Workers, as if all had been made under the new names; bindings stay. */
  rename(newName: (name: string) => string): void {
    const databases = [...this.databases.values()].map((each) => ({ ...each, name: newName(each.name) }));
    const workers = [...this.workers].map(([name, worker]) => [newName(name), worker] as const);
    for (const [id, title] of this.namespaces) this.namespaces.set(id, newName(title));
    this.queues.rename(newName);
    this.databases.clear();
    for (const database of databases) this.databases.set(database.name, database);
    this.workers.clear();
    for (const [name, worker] of workers) this.workers.set(name, worker);
  }

  /** The calls that changed something. */
  writes(): string[] {
    return this.calls.filter((call) => !call.startsWith("GET "));
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://fake");
    const path = pathname.replace("/client/v4", "").replace(`/accounts/${this.accountId}`, "");
    const method = request.method ?? "";
    const contentType = request.headers["content-type"] ?? "";
    this.calls.push(`${method} ${path}`);
    const reply =
      this.refuse?.(`${method} ${path}`) ??
      (await this.#route({ method, path, searchParams, body: Buffer.concat(chunks), contentType }));
    if (reply === undefined) this.unknown.push(`${method} ${path}`);
    const { status = 200, result = null, errors = [] } = reply ?? failure(404, 10000, "The fake has no such route.");
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ success: errors.length === 0, errors, messages: [], result }));
  }

  #route(call: Call): Reply | undefined | Promise<Reply | undefined> {
    const [, area, kind, name, ...more] = call.path.split("/").map(decodeURIComponent);
    const action = more.join("/");
    if (area === "d1" && kind === "database") return this.#d1(call, name, action);
    if (call.path === "/storage/kv/namespaces") return this.#kv(call);
    if (area === "queues") return this.queues.answer(call, kind, name, action);
    if (call.path === "/workers/subdomain") return { result: { subdomain: "fake" } };
    if (area === "workers" && kind !== undefined && name !== undefined) return this.#worker(call, kind, name, action);
    return undefined;
  }

  #d1({ method, body }: Call, idOrName: string | undefined, action: string): Reply | undefined {
    if (idOrName === undefined) {
      if (method === "GET") return { result: [...this.databases.values()].map(publicDatabase) };
      const { name, primary_location_hint, jurisdiction } = JSON.parse(body.toString());
      if (this.databases.has(name)) return failure(400, 7502, "A database with that name already exists.");
      const database = { ...emptyDatabase(name), location: primary_location_hint, jurisdiction };
      this.databases.set(name, database);
      return { result: publicDatabase(database) };
    }
    const database = [...this.databases.values()].find(({ uuid, name }) => uuid === idOrName || name === idOrName);
    if (database === undefined) return failure(404, 7404, "The database could not be found.");
    if (action === "" && method === "GET") return { result: publicDatabase(database) };
    if (action === "query" && method === "POST") return query(database, JSON.parse(body.toString()).sql);
    return undefined;
  }

  #kv({ method, body }: Call): Reply {
    if (method === "GET") return { result: [...this.namespaces].map(([id, title]) => ({ id, title })) };
    const id = randomUUID().replaceAll("-", "");
    this.namespaces.set(id, JSON.parse(body.toString()).title);
    return { result: { id } };
  }

  async #worker(call: Call, kind: string, name: string, action: string): Promise<Reply | undefined> {
    const [, secret] = action.split("secrets/");
    const route = `${call.method} ${kind} ${secret === undefined ? action : "secrets/NAME"}`.trim();
    if (route === "PUT scripts" && !this.workers.has(name)) this.addWorker(name, []);
    const worker = this.workers.get(name);
    if (worker === undefined) return failure(404, 10007, "This Worker does not exist on your account.");
    switch (route) {
      case "GET services": {
        const script = { tag: "tag", tags: [], last_deployed_from: "wrangler" };
        return { result: { default_environment: { environment: "production", script } } };
      }
      case "GET workers":
        return { result: { subdomain: worker.subdomain } };
      case "GET scripts secrets":
        return { result: [...worker.secrets].map((secret) => ({ name: secret, type: "secret_text" })) };
      case "PUT scripts secrets":
        return setSecrets(worker, [JSON.parse(call.body.toString())]);
      case "DELETE scripts secrets/NAME":
        return worker.secrets.delete(String(secret)) ? {} : failure(404, 10056, "Binding name was not found.");
      case "PATCH scripts secrets-bulk":
        return setSecrets(worker, Object.values(JSON.parse(call.body.toString()).secrets));
      case "GET scripts settings":
        return { result: { bindings: bindingsOf(worker) } };
      case "PATCH scripts settings":
        return patchBindings(worker, JSON.parse(await textOf(call, "settings")).bindings);
      case "PUT scripts":
      case "POST scripts versions":
        return this.#upload(worker, await readUpload(call));
      case "PUT scripts schedules":
        worker.crons = JSON.parse(call.body.toString()).map(({ cron }: { cron: string }) => cron);
        return { result: {} };
      case "POST scripts subdomain":
        worker.subdomain = JSON.parse(call.body.toString());
        return { result: worker.subdomain };
      // An empty list of buckets says that Cloudflare already has all files.
      case "POST scripts assets-upload-session":
        return { result: { jwt: "assets", buckets: [] } };
      case "GET scripts deployments":
        return { result: { deployments: [] } };
      case "POST scripts deployments":
      case "PATCH scripts script-settings":
        return { result: {} };
      default:
        return undefined;
    }
  }

  #upload(worker: FakeWorker, metadata: Metadata): Reply {
    const missing = metadata.bindings.find(
      ({ type, queue_name: queue }) => type === "queue" && !this.queues.byName.has(String(queue)),
    );
    if (missing !== undefined) return failure(404, 11000, "workers.api.error.queue_not_found");
    return uploadWorker(worker, metadata);
  }
}

const readUpload = async (call: Call): Promise<Metadata> => ({
  bindings: [],
  ...JSON.parse((await textOf(call, "metadata")) || "{}"),
});

/** A field of a form, which may be a file. */
async function textOf({ body, contentType }: Call, field: string): Promise<string> {
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
  const value = form.get(field);
  return typeof value === "string" ? value : ((await value?.text()) ?? "");
}

function emptyDatabase(name: string): FakeDatabase {
  const data = new DatabaseSync(":memory:");
  return { uuid: randomUUID(), name, location: undefined, jurisdiction: undefined, data };
}

function query({ data, fault }: FakeDatabase, sql: string): Reply {
  if (fault !== undefined) return failure(500, 7500, fault);
  try {
    return { result: runSql(data, sql) };
  } catch (error) {
    return failure(400, 7500, `${(error as Error).message}: SQLITE_ERROR`);
  }
}

/** Results as D1 returns them, for one statement or many. */
function runSql(data: DatabaseSync, sql: string) {
  const isQuery = /^\s*select\b/i.test(sql);
  if (!isQuery) data.exec(sql);
  return [{ success: true, results: isQuery ? data.prepare(sql).all() : [], meta: { duration: 0 } }];
}

const publicDatabase = ({ uuid, name }: FakeDatabase) => ({ uuid, name, version: "production" });
