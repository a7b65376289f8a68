import { Problem } from "../admin/problem.ts";
import { configOf } from "../context.ts";
import { newHono, type Routes } from "../new-hono.ts";
import { answerInTime, nowOf } from "../operator.ts";
import { agentsPages } from "./pages/agents-pages.tsx";
import { appPages } from "./pages/app-pages.tsx";
import { appsPages } from "./pages/apps-pages.tsx";
import { auditPages } from "./pages/audit-pages.tsx";
import { secretPage } from "./pages/secret-page.tsx";
import { sessionsPages } from "./pages/sessions-pages.tsx";
import { askToSignIn, signInPages } from "./pages/sign-in-pages.tsx";
import { signatureCheckPage } from "./pages/signature-check-page.tsx";
import { sitePage } from "./pages/site-page.tsx";
import { sitesPages } from "./pages/sites-pages.tsx";
import { sessionOf } from "./session-cookie.ts";
import { viewOf } from "./view.ts";

const SELF_ONLY = ["style-src", "script-src", "form-action"].map((directive) => `${directive} 'self'`);
const NOTHING = ["default-src", "frame-ancestors", "base-uri"].map((directive) => `${directive} 'none'`);

/** On every answer, refusals and redirects too. */
const HEADERS = [
  ["content-security-policy", [...NOTHING, ...SELF_ONLY, "img-src 'self'"].join("; ")],
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
  ["referrer-policy", "same-origin"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
  ["strict-transport-security", "max-age=31536000"],
  ["permissions-policy", "camera=(), geolocation=(), microphone=()"],
] as const;

/**
 * Whether a request that may change something comes from one of these pages, by what browsers say of it and no page can forge.
 * Whatever its media type: hono's csrf() looks at forms only, and some changes here read no form at all.
 */
function isOwn({ method, url, headers }: Request): boolean {
  if (method === "GET" || method === "HEAD") return true;
  return headers.get("sec-fetch-site") === "same-origin" || headers.get("origin") === new URL(url).origin;
}

/** The operator's console: pages over the functions that the admin API calls too. README, "Console". */
export function operatorConsole(): Routes {
  const routes = newHono();
  routes.use(answerInTime);
  routes.use(async (c, next) => {
    for (const [name, value] of HEADERS) c.header(name, value);
    c.set("view", await viewOf(c));
    const { method, path } = c.req;
    if (path.endsWith("/") && (method === "GET" || method === "HEAD")) {
      return c.redirect(path.replace(/\/+$/, "") + new URL(c.req.url).search, 301);
    }
    const { directory, adminToken } = configOf(c);
    c.var.view.session = await sessionOf(c.var.isolate.runtime, c.req.raw, directory, adminToken, nowOf(c));
    return next();
  });
  routes.use(async (c, next) => {
    if (!isOwn(c.req.raw)) throw new Problem(403, "Forbidden", "This form came from elsewhere.");
    await next();
  });
  signInPages(routes);
  routes.use(async (c, next) => {
    return c.var.view.session === undefined ? askToSignIn(c) : next();
  });
  sitesPages(routes);
  sitePage(routes);
  appsPages(routes);
  appPages(routes);
  secretPage(routes);
  agentsPages(routes);
  sessionsPages(routes);
  signatureCheckPage(routes);
  auditPages(routes);
  return routes;
}
