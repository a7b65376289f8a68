import { agentChangeSchema, changeAgent, createAgents, listAgents, newAgentSchema } from "../../services/agents.ts";
import { rotateSecret, rotateSecretSchema } from "../../services/app-secrets.ts";
import { deleteApp, issueApp, issueAppSchema, listApps } from "../../services/apps.ts";
import { auditQuerySchema, listAuditLog } from "../../services/audit.ts";
import { listDivergentApps } from "../../services/divergent-apps.ts";
import { listHomes, restoredSchema, settleRestoredHome } from "../../services/homes.ts";
import { pageQuerySchema } from "../../services/page.ts";
import { agentUnknown, sessionUnknown } from "../../services/refusals.ts";
import { resealSecrets } from "../../services/reseal-secrets.ts";
import { listSessions, readSession, sessionQuerySchema } from "../../services/sessions.ts";
import { changeSite, createSite, listSites, newSiteSchema, siteChangeSchema } from "../../services/sites.ts";
import { newHono, type Routes } from "../new-hono.ts";
import { answerInTime, noteHome, serviceContext, siteOf } from "../operator/context.ts";
import { pathId } from "../path-id.ts";
import { refuseOtherMethods, refuseOtherPaths } from "../refuse-other-methods.ts";
import { requireAdmin } from "./admin-token.ts";
import type { AdminEnv } from "./env.ts";
import { onError } from "./on-error.ts";
import { readInput, readQuery } from "./read-input.ts";
import { addWebhookRoutes } from "./webhook-routes.ts";
import * as wire from "./wire.ts";

/** The admin API: JSON in and out, bearer token, problem details. docs/operating.md, "Admin API". */
export function admin(): Routes<AdminEnv> {
  const routes = newHono<AdminEnv>();
  routes.onError(onError);
  routes.use(async function provideContext(c, next) {
    c.header("cache-control", "no-store");
    c.set("ctx", serviceContext(c, "admin-api"));
    await next();
  });
  routes.use(requireAdmin);
  routes.use(answerInTime);

  routes.post("/sites", async (c) => {
    const { name, home, first_chat_id: firstChatId } = await readInput(c, newSiteSchema);
    noteHome(c, home);
    return c.json(wire.site(await createSite(c.var.ctx, { name, home, firstChatId })), 201);
  });

  routes.get("/sites", async (c) => {
    const query = readQuery(c, pageQuerySchema);
    return c.json(wire.page(await listSites(c.var.ctx, query), wire.siteEntry));
  });

  routes.patch("/sites/:site_id", async (c) => {
    const site = await siteOf(c);
    const { first_chat_id: firstChatId, ...change } = await readInput(c, siteChangeSchema);
    return c.json(wire.changedSite(await changeSite(c.var.ctx, { site, change: { ...change, firstChatId } })));
  });

  routes.post("/sites/:site_id/apps", async (c) => {
    const site = await siteOf(c);
    const input = await readInput(c, issueAppSchema);
    return c.json(wire.issuedApp(await issueApp(c.var.ctx, { site, ...input })), 201);
  });

  routes.get("/sites/:site_id/apps", async (c) => {
    const site = await siteOf(c);
    const query = readQuery(c, pageQuerySchema);
    return c.json(wire.page(await listApps(c.var.ctx, { site, ...query }), wire.app));
  });

  routes.post("/apps/:appid/rotate", async (c) => {
    const { overlap_seconds, expected_version } = await readInput(c, rotateSecretSchema, {});
    const input = { overlapSeconds: overlap_seconds, expectedVersion: expected_version };
    return c.json(wire.rotatedSecret(await rotateSecret(c.var.ctx, { appid: c.req.param("appid"), ...input })));
  });

  routes.delete("/apps/:appid", async (c) => {
    await deleteApp(c.var.ctx, { appid: c.req.param("appid") });
    return c.body(null, 204);
  });

  routes.post("/reseal", async (c) => c.json(wire.resealed(await resealSecrets(c.var.ctx))));

  routes.post("/sites/:site_id/agents", async (c) => {
    const site = await siteOf(c);
    const newcomer = await readInput(c, newAgentSchema);
    const added = await createAgents(c.var.ctx, { site, agents: [newcomer] });
    return c.json(added.map(wire.agent)[0], 201);
  });

  routes.patch("/sites/:site_id/agents/:id", async (c) => {
    const site = await siteOf(c);
    const change = await readInput(c, agentChangeSchema);
    const id = pathId(c, "id", agentUnknown);
    return c.json(wire.agent(await changeAgent(c.var.ctx, { site, id, change })));
  });

  routes.get("/sites/:site_id/agents", async (c) => {
    const site = await siteOf(c);
    const query = readQuery(c, pageQuerySchema);
    return c.json(wire.page(await listAgents(c.var.ctx, { site, ...query }), wire.agent));
  });

  routes.get("/sites/:site_id/sessions", async (c) => {
    const site = await siteOf(c);
    const query = readQuery(c, sessionQuerySchema);
    return c.json(wire.page(await listSessions(c.var.ctx, { site, ...query }), wire.sessionSummary));
  });

  routes.get("/sites/:site_id/sessions/:chat_id", async (c) => {
    const site = await siteOf(c);
    const chatId = pathId(c, "chat_id", sessionUnknown);
    return c.json(wire.sessionDetail(await readSession(c.var.ctx, { site, chatId })));
  });

  addWebhookRoutes(routes);

  routes.get("/audit", async (c) => {
    const { site_id: siteId, ...query } = readQuery(c, auditQuerySchema);
    const log = await listAuditLog(c.var.ctx, { siteId, ...query });
    return c.json({ ...wire.page(log, wire.auditEntry), homes_down: log.homesDown });
  });

  routes.get("/homes", async (c) => c.json({ items: await listHomes(c.var.ctx) }));

  routes.post("/homes/:name/restored", async (c) => {
    const { settling_id: settlingId, ...input } = await readInput(c, restoredSchema, {});
    const home = c.req.param("name");
    noteHome(c, home);
    return c.json(wire.restored(await settleRestoredHome(c.var.ctx, { home, settlingId, ...input })));
  });

  routes.get("/homes/:name/divergent", async (c) => {
    const query = readQuery(c, pageQuerySchema);
    const home = c.req.param("name");
    noteHome(c, home);
    const page = await listDivergentApps(c.var.ctx, { home, ...query });
    return c.json({ ...wire.page(page, wire.divergentApp), homes_down: page.homesDown });
  });

  refuseOtherMethods(routes);
  refuseOtherPaths(routes);
  return routes;
}
