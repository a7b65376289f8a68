import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import type { Bindings } from "../../src/config.ts";
import { seedAgents } from "./seed-agents.ts";
import { runtimeAt } from "./test-runtime.ts";

/** 2027-01-15T08:00:00Z. Tests bring their own clock; nothing here reads the machine's. */
export const NOW = 1_800_000_000;

export const ADMIN_TOKEN = env.ADMIN_TOKEN;

export type Body = Record<string, unknown>;

/** Bindings to replace; undefined takes one away. */
export type Replacements = { [Name in keyof Bindings]?: Bindings[Name] | undefined };

export interface Answer {
  status: number;
  headers: Headers;
  envelope: { code: number; msg: string; data: unknown };
}

/**
 * A fresh site with an app and agents 1, 2 and 3 in normal status and 4 disabled, and an isolate of its own to talk to.
 * `env` may be replaced binding by binding; `clock.now` (Unix seconds) may be moved.
 */
export class World {
  readonly clock = { now: NOW };
  readonly app = createApp(runtimeAt(() => this.clock.now * 1000));
  readonly env: Bindings;
  siteId = 0;
  appid = "";
  secret = "";

  private constructor(bindings: Replacements) {
    this.env = { ...env, ...unlimited, ...bindings } as Bindings;
  }

  static async create(bindings: Replacements = {}): Promise<World> {
    const world = new World(bindings);
    await world.provision();
    return world;
  }

  /** Another isolate of the same deployment: nothing cached, the same bindings. */
  anotherIsolate(bindings: Replacements = {}): World {
    const other = new World({ ...this.env, ...bindings });
    other.clock.now = this.clock.now;
    return Object.assign(other, { siteId: this.siteId, appid: this.appid, secret: this.secret });
  }

  private async provision(): Promise<void> {
    // Through an app on the real bindings, so that a faulty or counting binding sees only what the test does.
    const call = async <T>(method: string, path: string, body: Body): Promise<T> => {
      const answer = await this.fetchWith(operators, { ...env, ...unlimited }, adminRequest(method, path, body));
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
      return answer.json<T>();
    };
    const site = await call<{ id: number }>("POST", "/admin/sites", { name: "Site" });
    this.siteId = site.id;
    const issued = await call<{ appid: string; secret: string }>("POST", `/admin/sites/${site.id}/apps`, {
      name: "App",
    });
    this.appid = issued.appid;
    this.secret = issued.secret;
    await seedAgents(this, [1, 2, 3], [4]);
  }

  /** Sends any request and waits for what it left to `waitUntil`. */
  fetch(request: Request): Promise<Response> {
    return this.fetchWith(this.app, this.env, request);
  }

  private async fetchWith(app: typeof this.app, bindings: Bindings, request: Request): Promise<Response> {
    const context = createExecutionContext();
    const response = await app.fetch(request, bindings, context);
    await waitOnExecutionContext(context);
    return response;
  }

  /** Calls the admin API. */
  admin(method: string, path: string, body?: unknown): Promise<Response> {
    return this.fetch(adminRequest(method, path, body));
  }

  /** A create_gd body that is accepted, with a ranstr of its own. A field set to undefined is left out. */
  createBody(change: Body = {}): Body {
    return {
      ...this.stamp(),
      sbs: "customer_001",
      ip: "127.0.0.1",
      sbs_mc: "Customer Name",
      content: "Initial message",
      kefu_id: [1, 2],
      fzr_uid: 1,
      ...change,
    };
  }

  /** An add_kf body with a ranstr of its own. */
  addBody(chatId: number, change: Body = {}): Body {
    return { ...this.stamp(), chat_id: chatId, kefu_ids: "3", ...change };
  }

  private stamp(): Body {
    return { appid: this.appid, timestamp: this.clock.now, ranstr: crypto.randomUUID() };
  }

  create(change: Body = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send("create_gd", this.createBody(change), headers);
  }

  /** Creates a session that must be accepted. */
  async chatId(change: Body = {}): Promise<number> {
    const { envelope } = await this.create(change);
    const { chat_id } = envelope.data as { chat_id?: number };
    if (chat_id === undefined) throw new Error(`create_gd was refused: ${JSON.stringify(envelope)}`);
    return chat_id;
  }

  add(chatId: number, change: Body = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send("add_kf", this.addBody(chatId, change), headers);
  }

  /** Signs and sends a body; text goes out as it is. */
  async send(
    operation: "create_gd" | "add_kf",
    body: Body | string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const signature = await hmac(this.secret, text);
    return this.sendRaw(operation, text, { "x-chat-signature": signature, ...headers });
  }

  /** Sends bytes as they are, with exactly these headers beside a content type of JSON. */
  async sendRaw(operation: string, body: BodyInit, headers: HeadersInit = {}): Promise<Answer> {
    const all = new Headers(headers);
    if (!all.has("content-type")) all.set("content-type", "application/json");
    const response = await this.fetch(
      new Request(`http://worker/openapi/chat/${operation}`, { method: "POST", headers: all, body }),
    );
    return { status: response.status, headers: response.headers, envelope: await response.json() };
  }

  /** What operators made of this site: its apps, agents and audit log, and how many sites there are. */
  operated() {
    return readAll({
      apps: ["SELECT * FROM apps WHERE site_id = ? ORDER BY appid", this.siteId],
      agents: ["SELECT * FROM agents WHERE site_id = ? ORDER BY id", this.siteId],
      audit: ["SELECT * FROM audit_log WHERE site_id = ? ORDER BY id", this.siteId],
      sites: ["SELECT name FROM sites WHERE id >= ?", this.siteId],
    });
  }

  /** What is stored of this site and app, whole: for "nothing was written" and for "exactly this was". */
  stored() {
    const ofSessions = (table: string) =>
      `SELECT t.* FROM ${table} t JOIN sessions s ON s.id = t.session_id WHERE s.site_id = ? ORDER BY 1, 2`;
    return readAll({
      customers: ["SELECT * FROM customers WHERE site_id = ? ORDER BY id", this.siteId],
      sessions: ["SELECT * FROM sessions WHERE site_id = ? ORDER BY id", this.siteId],
      participants: [ofSessions("participants"), this.siteId],
      messages: [ofSessions("messages"), this.siteId],
      nonces: ["SELECT * FROM nonces WHERE appid = ? ORDER BY ranstr", this.appid],
      keys: ["SELECT * FROM idempotency_keys WHERE appid = ? ORDER BY operation, key", this.appid],
    });
  }
}

/** Runs queries of one parameter each, in one round trip: most of a test's time is its round trips. */
async function readAll<Name extends string>(
  queries: Record<Name, [sql: string, parameter: number | string]>,
): Promise<Record<Name, Record<string, unknown>[]>> {
  const asked = Object.entries<[string, number | string]>(queries);
  const results = await env.DB.batch<Record<string, unknown>>(
    asked.map(([, [sql, parameter]]) => env.DB.prepare(sql).bind(parameter)),
  );
  return Object.fromEntries(asked.map(([name], i) => [name, results[i]?.results ?? []])) as never;
}

/** The tests' own signing, independent of what they test: hex HMAC-SHA256 of UTF-8 text or bytes. */
export async function hmac(secret: string, body: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, typeof body === "string" ? encoder.encode(body) : body);
  return [...new Uint8Array(signature)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Where every world is set up, at NOW. */
const operators = createApp(runtimeAt(() => NOW * 1000));

/** Rate limits are off in a world unless a test brings its own: tests share one client address. */
const unlimited = { APP_LIMIT: undefined, CLIENT_LIMIT: undefined } as unknown as Partial<Bindings>;

function adminRequest(method: string, path: string, body?: unknown): Request {
  return new Request(`http://worker${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}
