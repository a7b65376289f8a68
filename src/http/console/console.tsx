import { ServiceError } from "../../errors.ts";
import { checkConsoleSession } from "../../services/console-sessions.ts";
import { newHono } from "../new-hono.ts";
import { mount } from "../operator/call.ts";
import { answerInTime, serviceContext } from "../operator/context.ts";
import { refuseOtherPaths } from "../refuse-other-methods.ts";
import { CONSOLE_CALLS } from "./calls.ts";
import { readCookie, SESSION_COOKIE } from "./cookies.ts";
import type { ConsoleEnv, ConsoleRoutes } from "./env.ts";
import { showError } from "./on-error.tsx";
import { askToSignIn } from "./sign-in/sign-in-pages.tsx";
import { viewOf } from "./view.ts";

const SELF_ONLY = ["style-src", "script-src", "form-action"].map((directive) => `${directive} 'self'`);
const NOTHING = ["default-src", "frame-ancestors", "base-uri"].map((directive) => `${directive} 'none'`);

/** Headers of every answer, refusals and redirects too. */
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
 * Whether a request that may change something comes from a page of the console. The browser sets the headers that tell it, so a page
 * cannot forge them. hono's csrf() is not enough: it checks forms only, and some changes here read no form.
 */
function isOwn({ method, url, headers }: Request): boolean {
  if (method === "GET" || method === "HEAD") return true;
  return headers.get("sec-fetch-site") === "same-origin" || headers.get("origin") === new URL(url).origin;
}

/** The operator's console: pages that call the same services as the admin API. docs/operating.md, "Console". */
export function operatorConsole(): ConsoleRoutes {
  const routes = newHono<ConsoleEnv>();
  routes.onError(showError);
  routes.use(answerInTime);
  routes.use(async (c, next) => {
    for (const [name, value] of HEADERS) c.header(name, value);
    c.set("view", await viewOf(c));
    const { method } = c.req;
    // The path is not c.req.path, which is decoded: it may hold a line end, which no header can carry.
    const { pathname, search } = new URL(c.req.url);
    if (pathname.endsWith("/") && (method === "GET" || method === "HEAD")) {
      return c.redirect(pathname.replace(/(?<!\/)\/+$/, "") + search, 301);
    }
    c.set("ctx", serviceContext(c, "console"));
    const { homes, closedHomes } = c.var.ctx.config;
    Object.assign(c.var.view, { hasHomes: homes.size > 1, closedHomes });
    const cookie = readCookie(c.req.raw, SESSION_COOKIE) ?? "";
    c.var.view.session = await checkConsoleSession(c.var.ctx, { cookie });
    return next();
  });
  routes.use(async (c, next) => {
    if (!isOwn(c.req.raw)) throw new ServiceError("forbidden", { reason: "form_from_elsewhere" });
    await next();
  });
  mount(routes, CONSOLE_CALLS, async (c, next) => {
    return c.var.view.session === undefined ? askToSignIn(c) : next();
  });
  refuseOtherPaths(routes);
  return routes;
}
