import { Hono } from "hono";
import { issueApp, issueAppSchema } from "../../credentials/issue-app.ts";
import { rotateSecret, rotateSecretSchema } from "../../credentials/rotate-secret.ts";
import { page, pageQuerySchema, sessionQuerySchema } from "../../directory/page.ts";
import { agentChangeSchema, newAgentSchema, newSiteSchema } from "../../directory/schemas.ts";
import { homeDatabase, type Settings, settingsOf } from "../../env.ts";
import { sessionDetail, sessionSummary } from "../../sessions/session-view.ts";
import { insertAgent, listAgents, updateAgent } from "../../store/agents.ts";
import { listApps, markRevoked } from "../../store/apps.ts";
import { listSessions, readSession } from "../../store/sessions.ts";
import { findSite, insertSite, listSites } from "../../store/sites.ts";
import { requireAdmin } from "../admin-token.ts";
import type { App, RequestContext } from "../context.ts";
import { notFound, Problem } from "../problem.ts";
import { idCursor, parseQuery, pathId, readInput } from "../read-input.ts";

/** The admin API: JSON in and out, bearer token, problem details. README, "Admin API". */
export function admin(): Hono<App> {
  const routes = new Hono<App>();
  routes.use(requireAdmin);

  routes.post("/sites", async (c) => {
    const { name } = await readInput(c, newSiteSchema);
    const site = await insertSite(settingsOf(c.env).directory, name, nowOf(c));
    return c.json({ id: site.id, name: site.name }, 201);
  });

  routes.get("/sites", async (c) => {
    const { limit, cursor } = parseQuery(c, pageQuerySchema);
    const rows = await listSites(settingsOf(c.env).directory, idCursor(cursor, 0), limit + 1);
    return c.json(
      page(
        rows,
        limit,
        (site) => site.id,
        ({ id, name, createdAt }) => ({ id, name, created_at: createdAt }),
      ),
    );
  });

  routes.post("/sites/:site_id/apps", async (c) => {
    const { settings, siteId } = await siteOf(c);
    const input = await readInput(c, issueAppSchema);
    const keyring = await c.var.isolate.credentials.keyring(settings);
    const app = await issueApp(settings.directory, keyring, siteId, input, nowOf(c));
    if (app === undefined) throw new Problem(409, "Conflict", "appid: is taken");
    await c.var.isolate.credentials.forget(settings, app.appid);
    return c.json(app, 201);
  });

  routes.get("/sites/:site_id/apps", async (c) => {
    const { settings, siteId } = await siteOf(c);
    const { limit, cursor } = parseQuery(c, pageQuerySchema);
    const rows = await listApps(settings.directory, siteId, cursor ?? "", limit + 1);
    return c.json(
      page(
        rows,
        limit,
        (app) => app.appid,
        (app) => ({
          appid: app.appid,
          name: app.name,
          previous_expires_at: app.previousExpiresAt,
          revoked_at: app.revokedAt,
          created_at: app.createdAt,
        }),
      ),
    );
  });

  routes.post("/apps/:appid/rotate", async (c) => {
    const settings = settingsOf(c.env);
    const appid = c.req.param("appid");
    const { overlap_seconds } = await readInput(c, rotateSecretSchema, {});
    const keyring = await c.var.isolate.credentials.keyring(settings);
    const rotated = await rotateSecret(settings.directory, keyring, appid, overlap_seconds, nowOf(c));
    if (rotated === "missing") throw notFound("app");
    if (rotated === "revoked") throw new Problem(409, "Conflict", "The app is revoked.");
    if (rotated === "busy") throw new Problem(409, "Conflict", "The app is being rotated by others; try again.");
    await c.var.isolate.credentials.forget(settings, appid);
    return c.json(rotated);
  });

  routes.delete("/apps/:appid", async (c) => {
    const settings = settingsOf(c.env);
    const appid = c.req.param("appid");
    if (!(await markRevoked(settings.directory, appid, nowOf(c)))) throw notFound("app");
    await c.var.isolate.credentials.forget(settings, appid);
    return c.body(null, 204);
  });

  routes.post("/sites/:site_id/agents", async (c) => {
    const { home, siteId } = await siteOf(c);
    const { id, name } = await readInput(c, newAgentSchema);
    const agent = await insertAgent(home, siteId, { id, name, status: "normal" });
    if (agent === undefined) throw new Problem(409, "Conflict", "id: the site has an agent of this id");
    return c.json(agent, 201);
  });

  routes.patch("/sites/:site_id/agents/:id", async (c) => {
    const { home, siteId } = await siteOf(c);
    const change = await readInput(c, agentChangeSchema);
    const agent = await updateAgent(home, siteId, pathId(c, "id", "agent"), change);
    if (agent === undefined) throw notFound("agent");
    return c.json(agent);
  });

  routes.get("/sites/:site_id/agents", async (c) => {
    const { home, siteId } = await siteOf(c);
    const { limit, cursor } = parseQuery(c, pageQuerySchema);
    const rows = await listAgents(home, siteId, idCursor(cursor, 0), limit + 1);
    return c.json(
      page(
        rows,
        limit,
        (agent) => agent.id,
        (agent) => agent,
      ),
    );
  });

  routes.get("/sites/:site_id/sessions", async (c) => {
    const { home, siteId } = await siteOf(c);
    const { limit, cursor, status } = parseQuery(c, sessionQuerySchema);
    const rows = await listSessions(home, siteId, status, idCursor(cursor, Number.MAX_SAFE_INTEGER), limit + 1);
    return c.json(page(rows, limit, (session) => session.id, sessionSummary));
  });

  routes.get("/sites/:site_id/sessions/:chat_id", async (c) => {
    const { home, siteId } = await siteOf(c);
    const session = await readSession(home, siteId, pathId(c, "chat_id", "session"));
    if (session === undefined) throw notFound("session");
    return c.json(sessionDetail(session));
  });

  return routes;
}

const nowOf = (c: RequestContext) => Math.floor(c.var.isolate.now() / 1000);

/** The site a path names, with the database of its data. */
async function siteOf(c: RequestContext): Promise<{ settings: Settings; siteId: number; home: D1Database }> {
  const settings = settingsOf(c.env);
  const siteId = pathId(c, "site_id", "site");
  if ((await findSite(settings.directory, siteId)) === undefined) throw notFound("site");
  return { settings, siteId, home: homeDatabase(settings, siteId) };
}
