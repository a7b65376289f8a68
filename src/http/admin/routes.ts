import { ServiceError } from "../../errors.ts";
import { addAgentsToSite, newAgentSchema } from "../../services/add-agents.ts";
import { agentChangeSchema, changeAgent } from "../../services/change-agent.ts";
import { createSite, newSiteSchema } from "../../services/create-site.ts";
import { issueApp, issueAppSchema } from "../../services/issue-app.ts";
import { listAgentsOfSite } from "../../services/list-agents.ts";
import { listAppsOfSite } from "../../services/list-apps.ts";
import { auditQuerySchema, listAuditLog } from "../../services/list-audit-log.ts";
import { listSessionsOfSite, sessionQuerySchema } from "../../services/list-sessions.ts";
import { listAllSites } from "../../services/list-sites.ts";
import { pageQuerySchema } from "../../services/page.ts";
import { resealSecrets } from "../../services/reseal-secrets.ts";
import { revokeApp } from "../../services/revoke-app.ts";
import { rotateSecret, rotateSecretSchema } from "../../services/rotate-secret.ts";
import { readSession } from "../../store/home/sessions.ts";
import { configOf } from "../context.ts";
import { newHono, type Routes } from "../new-hono.ts";
import { answerInTime, authorOf, deskOf, siteOf } from "../operator.ts";
import { requireAdmin } from "./admin-token.ts";
import { notFound, Problem } from "./problem.ts";
import { appidCursor, idCursor, parseQuery, pathId, readInput } from "./read-input.ts";
import { sessionDetail, sessionSummary } from "./session-view.ts";

const ACTOR = "admin-api";
const NEWEST = Number.MAX_SAFE_INTEGER;

/** Told whoever repeats a rotation whose answer was lost, too: once more would end the secret in use. */
const OTHER_VERSION =
  "expected_version: the app has another version by now, by a rotation of others or by this very call, sent before.";

/** The admin API: JSON in and out, bearer token, problem details. README, "Admin API". */
export function admin(): Routes {
  const routes = newHono();
  routes.use(requireAdmin);
  routes.use(answerInTime);

  routes.post("/sites", async (c) => {
    const input = await readInput(c, newSiteSchema);
    return c.json(await createSite(configOf(c).directory, input, authorOf(c, ACTOR)), 201);
  });

  routes.get("/sites", async (c) => {
    const { limit, cursor } = parseQuery(c, pageQuerySchema);
    return c.json(await listAllSites(configOf(c).directory, idCursor(cursor, 0), limit));
  });

  routes.post("/sites/:site_id/apps", async (c) => {
    const { site } = await siteOf(c);
    const app = await issueApp(deskOf(c, ACTOR), site.id, await readInput(c, issueAppSchema));
    if (app === undefined) throw new Problem(409, "Conflict", "appid: is taken");
    return c.json(app, 201);
  });

  routes.get("/sites/:site_id/apps", async (c) => {
    const { config, site } = await siteOf(c);
    const { limit, cursor } = parseQuery(c, pageQuerySchema);
    return c.json(await listAppsOfSite(config.directory, site.id, appidCursor(cursor), limit));
  });

  routes.post("/apps/:appid/rotate", async (c) => {
    const { overlap_seconds, expected_version } = await readInput(c, rotateSecretSchema, {});
    const rotated = await rotateSecret(deskOf(c, ACTOR), c.req.param("appid"), overlap_seconds, expected_version);
    if (rotated === "missing") throw notFound("app");
    if (rotated === "revoked") throw new Problem(409, "Conflict", "The app is revoked.");
    if (rotated === "busy" && expected_version !== undefined) throw new Problem(409, "Conflict", OTHER_VERSION);
    if (rotated === "busy") throw new Problem(409, "Conflict", "The app is being rotated by others; try again.");
    return c.json(rotated);
  });

  routes.delete("/apps/:appid", async (c) => {
    if (!(await revokeApp(deskOf(c, ACTOR), c.req.param("appid")))) throw notFound("app");
    return c.body(null, 204);
  });

  routes.post("/reseal", async (c) => c.json(await resealSecrets(deskOf(c, ACTOR))));

  routes.post("/sites/:site_id/agents", async (c) => {
    const { home, site } = await siteOf(c);
    const newcomer = await readInput(c, newAgentSchema);
    const { added } = await addAgentsToSite(home, site.id, [newcomer], authorOf(c, ACTOR));
    if (added === undefined) throw new Problem(409, "Conflict", "id: the site has an agent of this id");
    return c.json(added[0], 201);
  });

  routes.patch("/sites/:site_id/agents/:id", async (c) => {
    const { home, site } = await siteOf(c);
    const change = await readInput(c, agentChangeSchema);
    const agent = await changeAgent(home, site.id, pathId(c, "id", "agent"), change, authorOf(c, ACTOR));
    if (agent === undefined) throw notFound("agent");
    return c.json(agent);
  });

  routes.get("/sites/:site_id/agents", async (c) => {
    const { home, site } = await siteOf(c);
    const { limit, cursor } = parseQuery(c, pageQuerySchema);
    return c.json(await listAgentsOfSite(home, site.id, idCursor(cursor, 0), limit));
  });

  routes.get("/sites/:site_id/sessions", async (c) => {
    const { home, site } = await siteOf(c);
    const { limit, cursor, ...filter } = parseQuery(c, sessionQuerySchema);
    const { items, next_cursor } = await listSessionsOfSite(home, site.id, filter, idCursor(cursor, NEWEST), limit);
    return c.json({ items: items.map(sessionSummary), next_cursor });
  });

  routes.get("/sites/:site_id/sessions/:chat_id", async (c) => {
    const { home, site } = await siteOf(c);
    const session = await readSession(home, site.id, pathId(c, "chat_id", "session"));
    if (session === undefined) throw notFound("session");
    return c.json(sessionDetail(session));
  });

  routes.get("/audit", async (c) => {
    const { limit, cursor, site_id } = parseQuery(c, auditQuerySchema);
    return c.json(await listAuditLog(configOf(c).directory, site_id, idCursor(cursor, NEWEST), limit));
  });

  return refuseOtherMethods(routes);
}

/** Any other method on a path that has a route is a 405 which names the right ones, not a 404. */
function refuseOtherMethods(routes: Routes): Routes {
  const served = Map.groupBy(
    routes.routes.filter(({ method }) => method !== "ALL"),
    ({ path }) => path,
  );
  for (const [path, handlers] of served) {
    const allow = [...new Set(handlers.map(({ method }) => method))].join(", ");
    routes.all(path, () => {
      throw new ServiceError("method_not_allowed", { reason: "method_not_allowed", allow });
    });
  }
  return routes;
}
