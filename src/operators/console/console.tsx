import { ServiceError } from "../../core/errors.ts";
import { newHono } from "../../core/http/new-hono.ts";
import { refuseOtherPaths } from "../../core/http/refuse-other-methods.ts";
import { mount } from "../http/call.ts";
import { answerInTime, isRead, serviceContext } from "../http/context.ts";
import type { SendsSigned } from "../http/in-process-call.ts";
import { visitWithAssertion } from "../services/access-sessions.ts";
import { checkConsoleSession } from "../services/console-sessions.ts";
import type { OperatorMemory } from "../services/operator-memory.ts";
import { noteRootRead } from "../services/sign-in-log.ts";
import { beginCall, countCall } from "../services/token-limits.ts";
import { browserOf } from "./browser.ts";
import { CONSOLE_CALLS } from "./calls.ts";
import { languageCookie, readCookie, SESSION_COOKIE } from "./cookies.ts";
import { type ConsoleEnv, type ConsoleRoutes, type PageContext, setView } from "./env.ts";
import { showError } from "./on-error.tsx";
import { mayByRole } from "./page-call.ts";
import { askToSignIn } from "./sign-in/sign-in-pages.tsx";
import { askedLanguage, viewOf } from "./view.ts";

const SELF_ONLY = ["style-src", "script-src", "connect-src", "form-action"].map((directive) => `${directive} 'self'`);
const POLICY_WITHOUT_SOURCES = ["default-src", "frame-ancestors", "base-uri"].map((directive) => `${directive} 'none'`);

/** The headers of every answer, also of refusals and redirects. */
const HEADERS = [
  ["content-security-policy", [...POLICY_WITHOUT_SOURCES, ...SELF_ONLY, "img-src 'self'"].join("; ")],
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
  ["referrer-policy", "same-origin"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
  ["strict-transport-security", "max-age=31536000"],
  ["permissions-policy", "camera=(), geolocation=(), microphone=()"],
] as const;

const mayOf = mayByRole(CONSOLE_CALLS);

/**
 * Whether a request that may change something comes from a page of the console. It reads headers that the browser sets, and that
 * no page can forge. hono's csrf() is not enough, because it checks forms only, and some changes here read no form.
 */
function isOwn(request: Request): boolean {
  if (isRead(request)) return true;
  const { url, headers } = request;
  return headers.get("sec-fetch-site") === "same-origin" || headers.get("origin") === new URL(url).origin;
}

/**
 * Finds the console session of a request. A sign-in with a token counts before an assertion of Cloudflare Access, because
 * somebody who signs in as the root wants to be the root.
 */
async function recogniseOperator(c: PageContext): Promise<void> {
  const { view, ctx } = c.var;
  const cookie = readCookie(c.req.raw, SESSION_COOKIE) ?? "";
  view.session = ctx.config.signIn === "access" ? undefined : await checkConsoleSession(ctx, { cookie });
  const assertion = c.req.header("cf-access-jwt-assertion");
  if (view.session === undefined && assertion !== undefined) {
    const browser = browserOf(c.req.header("user-agent") ?? "");
    const visit = await visitWithAssertion(ctx, { assertion, browser });
    view.session = visit?.session;
    if (visit?.refused !== undefined) view.refused = { reason: visit.refused, email: visit.email };
  }
  c.set("ctx", { ...ctx, identity: view.session?.identity });
}

/** Counts a request of a person, also of pages for anyone: their session is read for each. Signing out is always possible. */
async function countPersonsCall({ req, var: { view, ctx } }: PageContext): Promise<void> {
  const { kind, id } = view.session?.identity.who ?? {};
  if (kind !== "person" || id === undefined || req.path === "/console/sign-out") return;
  await beginCall(ctx, { kind, id }, isRead(req.raw));
  await countCall(ctx, { kind, id }, isRead(req.raw));
}

/** The operator's console. Its pages call the same services as the admin API. See docs/operating/sites-and-secrets.md, "Console". */
export function operatorConsole(memory: OperatorMemory, sendSigned: SendsSigned): ConsoleRoutes {
  const routes = newHono<ConsoleEnv>();
  routes.onError(showError);
  routes.use(answerInTime);
  routes.use(async (c, next) => {
    for (const [name, value] of HEADERS) c.header(name, value);
    setView(c, await viewOf(c));
    const languageOfQuery = askedLanguage(c.req.raw);
    if (languageOfQuery !== undefined) c.header("set-cookie", languageCookie(languageOfQuery), { append: true });
    c.set("sendSigned", sendSigned);
    // The path is not c.req.path, which is decoded and may hold a line end. No header can carry a line end.
    const { pathname, search } = new URL(c.req.url);
    if (pathname.endsWith("/") && isRead(c.req.raw))
      return c.redirect(pathname.replace(/(?<!\/)\/+$/, "") + search, 301);
    if (!isOwn(c.req.raw)) throw new ServiceError("forbidden", { reason: "form_from_elsewhere" });
    c.set("ctx", serviceContext(c, "console", memory));
    const { homes, closedHomes } = c.var.ctx.config;
    Object.assign(c.var.view, { hasHomes: homes.size > 1, closedHomes, isBound: (home: string) => homes.has(home) });
    await recogniseOperator(c);
    c.var.view.may = mayOf(c.var.view.session?.identity);
    try {
      await countPersonsCall(c);
      return await next();
    } finally {
      memory.calls.end(c.var.trace.requestId);
    }
  });
  mount(routes, CONSOLE_CALLS, async (c) => {
    const { view, ctx } = c.var;
    if (view.session === undefined) return askToSignIn(c);
    if (view.session.identity.who.kind !== "person" && isRead(c.req.raw)) noteRootRead(ctx);
    return undefined;
  });
  refuseOtherPaths(routes);
  return routes;
}
