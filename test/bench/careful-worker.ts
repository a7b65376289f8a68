/**
 * Runs in workerd. create_gd as a good engineer would write it without the claim in a single batch. Credentials are cached in the
 * isolate. One batch reads, in parallel with the read from KV, and one batch writes. The KV put is in waitUntil. There is no
 * framework. This Worker shares production's schemas, signature check and automatic title, so only the use of the database differs.
 *
 * When the reads miss a replay, the write batch fails at the primary key of the nonce and is rolled back. So this Worker is as safe
 * against replays as production. It has no retry after a lost answer and no Idempotency-Key, and it does not notice an app or an
 * agent that is revoked or disabled between its two batches.
 */

import { importKey } from "../../src/core/credentials/import-key.ts";
import { autoTitle } from "../../src/core/operations/auto-title.ts";
import createSessionOperation from "../../src/core/operations/create-session.ts";
import { checkFreshness } from "../../src/core/signed/check-freshness.ts";
import { verifySignature } from "../../src/core/signed/verify-signature.ts";

interface CreateSession {
  customer: { externalId: string; name: string; ip: string };
  content: string;
  title?: string;
  agentIds: number[];
  responsibleAgentId: number;
  sender: "customer" | "responsible_agent" | "system";
}

interface Env {
  DB: D1Database;
  NONCES: KVNamespace;
  CREDENTIALS: KVNamespace;
  APP_LIMIT: RateLimit;
}

interface CachedApp {
  siteId: number;
  keys: { slot: "current"; key: CryptoKey }[];
  until: number;
}

const REFUSALS = { 400: "参数错误", 401: "token验证失败!", 413: "参数错误", 415: "参数错误", 429: "请求过于频繁" };
const NONCE_SECONDS = 1_860;
const MOST_BYTES = 64 * 1024;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
const appCache = new Map<string, CachedApp>();

export default {
  async fetch(request, env, context) {
    const requestId = crypto.randomUUID();
    const since = Date.now();
    const answer = await createSession(request as unknown as Request, env, context);
    answer.headers.set("x-request-id", requestId);
    console.log(JSON.stringify({ request_id: requestId, status: answer.status, ms: Date.now() - since }));
    return answer;
  },
} satisfies ExportedHandler<Env>;

async function createSession(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
  if (!request.headers.get("content-type")?.toLowerCase().startsWith("application/json")) return refuse(415);
  const body = await request.arrayBuffer();
  if (body.byteLength > MOST_BYTES) return refuse(413);
  const fields = parseJson(body);
  if (typeof fields?.appid !== "string") return refuse(400);
  const { appid } = fields;
  const nonce = nonceKey(appid, String(fields.ranstr));
  const look = nonce.then((key) => env.NONCES.get(key)).catch(() => null);

  const app = await findApp(env, appid);
  if (app === undefined) return refuse(401);
  const signature = request.headers.get("x-chat-signature") ?? undefined;
  if (!(await verifySignature(body, signature, app.keys)).ok) return refuse(401);
  const now = Math.floor(Date.now() / 1000);
  const fresh = checkFreshness(fields, now, 300);
  if (!fresh.ok) return refuse(fresh.code === "invalid_parameters" ? 400 : 401);
  if (!(await env.APP_LIMIT.limit({ key: appid })).success) return refuse(429);
  if (typeof fields.sbs === "number") fields.sbs = String(fields.sbs);
  const operationInput = createSessionOperation.read(fields);
  if (!operationInput.ok) return refuse(400);
  const input = operationInput.value.input as CreateSession;

  const { ranstr } = fresh.value;
  const reads = readAll(env.DB, { appid, siteId: app.siteId, ranstr, agents: JSON.stringify(input.agentIds) });
  // KV's answer counts only when it shows that the ranstr is used. In all other cases D1 decides, so a slow KV delays nothing.
  const kvReads = look.then(async (value) => (value === null ? reads : { used: true, appIsGood: true, agents: 0 }));
  const state = await Promise.race([reads, kvReads]);
  if (state.used || !state.appIsGood) return refuse(401);
  if (state.agents !== input.agentIds.length) return refuse(400);
  const sessionId = await writeAll(env.DB, { appid, siteId: app.siteId, ranstr, now }, input);
  if (sessionId === undefined) return refuse(401);
  context.waitUntil(nonce.then((key) => env.NONCES.put(key, "1", { expirationTtl: NONCE_SECONDS })));
  return Response.json({ code: 1, msg: "ok", data: { chat_id: sessionId } });
}

const refuse = (status: keyof typeof REFUSALS) =>
  Response.json({ code: -1, msg: REFUSALS[status], data: "" }, { status });

function parseJson(body: ArrayBuffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(decoder.decode(body));
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The ranstr is hashed because it may be longer than KV allows a key to be. */
async function nonceKey(appid: string, ranstr: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(`${appid}:${ranstr}`));
  return `careful:${new Uint8Array(digest).toHex()}`;
}

async function findApp(env: Env, appid: string): Promise<CachedApp | undefined> {
  const known = appCache.get(appid);
  if (known !== undefined && known.until > Date.now()) return known;
  const record = await env.CREDENTIALS.get<{ secret: string; siteId: number }>(`peer:${appid}`, "json");
  if (record === null) return undefined;
  const key = await importKey(record.secret);
  const app: CachedApp = { siteId: record.siteId, keys: [{ slot: "current", key }], until: Date.now() + 300_000 };
  appCache.set(appid, app);
  return app;
}

async function readAll(db: D1Database, of: { appid: string; siteId: number; ranstr: string; agents: string }) {
  const [used, good, agents] = await db.batch([
    db
      .prepare("SELECT 1 FROM nonces WHERE site_id = ? AND appid = ? AND ranstr = ?")
      .bind(of.siteId, of.appid, of.ranstr),
    db
      .prepare(
        `SELECT 1 FROM apps JOIN home_sites USING (site_id)
        WHERE site_id = ? AND appid = ? AND revoked_at IS NULL AND status = 'open'`,
      )
      .bind(of.siteId, of.appid),
    db
      .prepare(
        `SELECT count(*) AS agents FROM agents
        WHERE site_id = ? AND status = 'normal' AND id IN (SELECT value FROM json_each(?))`,
      )
      .bind(of.siteId, of.agents),
  ]);
  return {
    used: used?.results.length !== 0,
    appIsGood: good?.results.length === 1,
    agents: (agents?.results[0] as { agents: number } | undefined)?.agents,
  };
}

/** SQL for the id of the site's newest session. It needs a row of home_sites in scope. */
const NEWEST = "coalesce((SELECT max(id) FROM sessions WHERE sessions.site_id = home_sites.site_id), 0)";

/** Writes everything in one batch. Returns undefined when another request took the nonce after the read. */
async function writeAll(
  db: D1Database,
  of: { appid: string; siteId: number; ranstr: string; now: number },
  input: CreateSession,
): Promise<number | undefined> {
  const { appid, siteId, ranstr, now } = of;
  const { customer, responsibleAgentId, title = null, content, sender } = input;
  const others = JSON.stringify(input.agentIds.filter((id) => id !== responsibleAgentId));
  const senderUid = { customer: null, responsible_agent: responsibleAgentId, system: 0 }[sender];
  const status = sender === "responsible_agent" ? "replied" : "waiting";
  const messageSender = sender === "customer" ? "visitor" : "agent";
  const statements = [
    db
      .prepare(
        `INSERT INTO nonces (site_id, appid, ranstr, owner, attempt, expires_at, outcome)
        VALUES (?, ?, ?, '', 1, ?, 'accepted')`,
      )
      .bind(siteId, appid, ranstr, now + NONCE_SECONDS),
    db
      .prepare(
        `INSERT INTO customers (site_id, external_id, name, ip, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET name = excluded.name, ip = excluded.ip, updated_at = excluded.updated_at`,
      )
      .bind(siteId, customer.externalId, customer.name, customer.ip, now, now),
    db
      .prepare(
        `INSERT INTO sessions (site_id, id, appid, kind, customer_external_id, responsible_agent_id, status,
          visitor_title, agent_title, auto_title, created_at)
        SELECT site_id, max(chat_id_floor, ${NEWEST}) + 1, ?, 'ticket', ?, ?, ?, ?, ?, ?, ?
        FROM home_sites WHERE site_id = ?
        RETURNING id`,
      )
      .bind(appid, customer.externalId, responsibleAgentId, status, title, title, autoTitle(content), now, siteId),
    // The session inserted above is the site's newest until the transaction ends, so NEWEST is its id.
    db
      .prepare(
        `INSERT INTO participants (site_id, session_id, agent_id, added_by, added_at)
        SELECT site_id, ${NEWEST}, value, ?, ? FROM home_sites JOIN json_each(?) WHERE site_id = ?`,
      )
      .bind(responsibleAgentId, now, others, siteId),
    db
      .prepare(
        `INSERT INTO messages (site_id, session_id, seq, sender, sender_uid, content, created_at)
        SELECT site_id, ${NEWEST}, 1, ?, ?, ?, ? FROM home_sites WHERE site_id = ?`,
      )
      .bind(messageSender, senderUid, content, now, siteId),
  ];
  try {
    return (await db.batch<{ id: number }>(statements))[2]?.results[0]?.id;
  } catch (error) {
    if (error instanceof Error && /UNIQUE constraint failed: nonces/.test(error.message)) return undefined;
    throw error;
  }
}
