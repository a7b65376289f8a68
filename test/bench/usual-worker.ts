/**
 * Runs in workerd. create_gd the usual way: the checks and rows of the production batch (is the app valid, claim the
 * ranstr, are the agents valid, customer, session, participants, message), in good SQL, with one awaited query after
 * another. Its three KV calls are those of this way: credentials, nonce seen, nonce remembered.
 */
interface Env {
  DB: D1Database;
  NONCES: KVNamespace;
  CREDENTIALS: KVNamespace;
}

interface Create {
  appid: string;
  timestamp: number;
  ranstr: string;
  sbs: string;
  ip: string;
  sbs_mc: string;
  content: string;
  title?: string;
  kefu_id: number[];
  fzr_uid: number;
}

const refuse = (status: number, msg: string) => Response.json({ code: -1, msg, data: "" }, { status });

export default {
  async fetch(request, env, _context) {
    const body = await request.arrayBuffer();
    const fields = JSON.parse(new TextDecoder().decode(body)) as Create;
    const app = await env.CREDENTIALS.get<{ secret: string; siteId: number }>(`peer:${fields.appid}`, "json");
    if (app === null) return refuse(401, "token验证失败!");
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const secret = new TextEncoder().encode(app.secret);
    const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["verify"]);
    const signature = Uint8Array.fromHex(request.headers.get("x-chat-signature") ?? "");
    if (!(await crypto.subtle.verify("HMAC", key, signature, body))) return refuse(401, "token验证失败!");
    const now = Math.floor(Date.now() / 1000);
    if (Math.abs(now - fields.timestamp) > 300) return refuse(401, "token验证失败!");

    const nonce = `usual:${fields.appid}:${fields.ranstr}`;
    if ((await env.NONCES.get(nonce)) !== null) return refuse(401, "token验证失败!");

    const good = await env.DB.prepare(
      `SELECT 1 FROM apps JOIN home_sites USING (site_id)
      WHERE site_id = ? AND appid = ? AND revoked_at IS NULL AND status = 'open'`,
    )
      .bind(app.siteId, fields.appid)
      .first();
    if (good === null) return refuse(401, "token验证失败!");
    const claimed = await env.DB.prepare(
      `INSERT INTO nonces (site_id, appid, ranstr, owner, attempt, expires_at, outcome)
      VALUES (?, ?, ?, ?, 1, ?, 'accepted') ON CONFLICT DO NOTHING`,
    )
      .bind(app.siteId, fields.appid, fields.ranstr, crypto.randomUUID(), now + 1_860)
      .run();
    if (claimed.meta.changes === 0) return refuse(401, "token验证失败!");
    await env.NONCES.put(nonce, "1", { expirationTtl: 1_860 });

    const agents = await env.DB.prepare(
      `SELECT id FROM agents WHERE site_id = ? AND status = 'normal' AND id IN (SELECT value FROM json_each(?))`,
    )
      .bind(app.siteId, JSON.stringify(fields.kefu_id))
      .all();
    if (agents.results.length !== fields.kefu_id.length) return refuse(400, "参数错误");
    await env.DB.prepare(
      `INSERT INTO customers (site_id, external_id, name, ip, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET name = excluded.name, ip = excluded.ip, updated_at = excluded.updated_at`,
    )
      .bind(app.siteId, fields.sbs, fields.sbs_mc, fields.ip, now, now)
      .run();
    const title = fields.title ?? null;
    const session = await env.DB.prepare(
      `INSERT INTO sessions (site_id, id, appid, kind, customer_external_id, responsible_agent_id, status, visitor_title,
        agent_title, auto_title, created_at)
      SELECT site_id,
        max(chat_id_floor, coalesce((SELECT max(id) FROM sessions WHERE sessions.site_id = home_sites.site_id), 0)) + 1,
        ?, 'ticket', ?, ?, 'replied', ?, ?, ?, ? FROM home_sites WHERE site_id = ? RETURNING id`,
    )
      .bind(fields.appid, fields.sbs, fields.fzr_uid, title, title, fields.content.slice(0, 40), now, app.siteId)
      .first<{ id: number }>();
    const others = fields.kefu_id.filter((id) => id !== fields.fzr_uid);
    await env.DB.prepare(
      `INSERT INTO participants (site_id, session_id, agent_id, added_by, added_at)
      SELECT ?, ?, value, ?, ? FROM json_each(?)`,
    )
      .bind(app.siteId, session?.id, fields.fzr_uid, now, JSON.stringify(others))
      .run();
    await env.DB.prepare(
      `INSERT INTO messages (site_id, session_id, seq, sender, sender_uid, content, created_at)
      VALUES (?, ?, 1, 'agent', ?, ?, ?)`,
    )
      .bind(app.siteId, session?.id, fields.fzr_uid, fields.content, now)
      .run();
    return Response.json({ code: 1, msg: "ok", data: { chat_id: session?.id } });
  },
} satisfies ExportedHandler<Env>;
