import type { Context, Env, MiddlewareHandler } from "hono";
import type { Site } from "../../services/sites.ts";
import type { AuditAction } from "../../store/audit.ts";
import type { Routes } from "../new-hono.ts";
import { type OperatorContext, siteOf } from "./context.ts";

export type HandlerResult = Response | Promise<Response>;

/** What every call of operators declares. */
export interface Declaration {
  method: "get" | "post" | "patch" | "delete";
  /** The path below the surface's own. */
  path: string;
  /** Who may make it. The owner has the ADMIN_TOKEN. */
  role: "owner" | "anyone";
  /**
   * What it is about: the site that the path names; the site of the app that the path names (services look it up); or the whole
   * deployment.
   */
  scope: "site" | "app" | "deployment";
  /** Every action that it may write to the audit log. */
  audit: readonly AuditAction[];
}

/** A call of operators: {@link call} makes it, {@link mount} registers it. */
export interface Call<C> extends Declaration {
  answer: (c: C) => HandlerResult;
}

/**
 * Makes a call of operators. When its scope is a site, the handler gets the site that the path names.
 *
 * @throws Error when the scope does not match the parameters of the path
 */
export function call<C extends OperatorContext>(
  declared: Declaration & { scope: "site" },
  handler: (c: C, site: Site) => HandlerResult,
): Call<C>;
export function call<C extends OperatorContext>(
  declared: Declaration,
  handler: (c: C, site: Site | undefined) => HandlerResult,
): Call<C>;
export function call<C extends OperatorContext>(
  declared: Declaration,
  handler: (c: C, site: Site) => HandlerResult,
): Call<C> {
  const { method, path, scope } = declared;
  const named = scopeOf(path);
  if (scope !== named) throw new Error(`${method} ${path} is about the ${named}, and says ${scope}`);
  const about = handler as (c: C, site?: Site) => HandlerResult;
  return { ...declared, answer: scope === "site" ? async (c) => about(c, await siteOf(c)) : about };
}

function scopeOf(path: string): Declaration["scope"] {
  const parts = path.split("/");
  if (parts.includes(":site_id")) return "site";
  return parts.includes(":appid") ? "app" : "deployment";
}

/**
 * Registers the calls of a surface, in their order.
 *
 * @param door stops requests without a token. Calls for anyone are not behind it. Unknown paths are: otherwise a stranger could learn
 *   which paths exist
 */
export function mount<E extends Env>(
  routes: Routes<E>,
  calls: readonly Call<Context<E>>[],
  door: MiddlewareHandler<E>,
): void {
  for (const { method, path, role, answer } of calls) {
    // The handler gets one argument: it would take hono's second one, `next`, for the site.
    const handler = (c: Context<E>) => answer(c);
    if (role === "anyone") routes[method](path, handler);
    else routes[method](path, door, handler);
  }
  routes.use(door);
}
