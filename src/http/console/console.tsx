import { csrf } from "hono/csrf";
import { settingsOf } from "../../env.ts";
import { newHono, type Routes } from "../new-hono.ts";
import { nowOf } from "../operator.ts";
import { agentsPages } from "./pages/agents.tsx";
import { appPages } from "./pages/app.tsx";
import { appsPages } from "./pages/apps.tsx";
import { auditPages } from "./pages/audit.tsx";
import { sessionsPages } from "./pages/sessions.tsx";
import { signInPages } from "./pages/sign-in.tsx";
import { signatureCheckPage } from "./pages/signature-check.tsx";
import { sitePage } from "./pages/site.tsx";
import { sitesPages } from "./pages/sites.tsx";
import { isSignedIn } from "./session-cookie.ts";
import { viewOf } from "./view.ts";

const SELF_ONLY = ["style-src", "script-src", "form-action"].map((directive) => `${directive} 'self'`);
const NOTHING = ["default-src", "frame-ancestors", "base-uri"].map((directive) => `${directive} 'none'`);

/** On every answer, refusals and redirects too. */
const HEADERS = [
  ["content-security-policy", [...NOTHING, ...SELF_ONLY, "img-src 'self' data:"].join("; ")],
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
  ["referrer-policy", "same-origin"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
  ["strict-transport-security", "max-age=31536000"],
  ["permissions-policy", "camera=(), geolocation=(), microphone=()"],
] as const;

/** The operator's console: pages over the functions that the admin API calls too. README, "Console". */
export function operatorConsole(): Routes {
  const routes = newHono();
  routes.use(async (c, next) => {
    for (const [name, value] of HEADERS) c.header(name, value);
    c.set("view", await viewOf(c));
    c.var.view.signedIn = await isSignedIn(c.req.raw, settingsOf(c.env).adminToken, nowOf(c));
    await next();
  });
  routes.use(csrf());
  signInPages(routes);
  routes.use(async (c, next) => {
    if (c.var.view.signedIn) return next();
    const next_page = c.req.method === "GET" ? `?${new URLSearchParams({ next: c.var.view.here })}` : "";
    return c.redirect(`/console/sign-in${next_page}`, 303);
  });
  sitesPages(routes);
  sitePage(routes);
  appsPages(routes);
  appPages(routes);
  agentsPages(routes);
  sessionsPages(routes);
  signatureCheckPage(routes);
  auditPages(routes);
  return routes;
}
