import type { Context, Env, MiddlewareHandler } from "hono";
import type { Site } from "../../services/sites.ts";
import type { AuditAction } from "../../store/audit.ts";
import type { Routes } from "../new-hono.ts";
import { type OperatorContext, siteOf } from "./context.ts";

export type Answer = Response | Promise<Response>;

/** What every call of operators says of itself before it can be made. */
export interface Declaration {
  method: "get" | "post" | "patch" | "delete";
  /** Below the surface's own path. */
  path: string;
  /** Who may: the owner has the ADMIN_TOKEN. */
  role: "owner" | "anyone";
  /**
   * What it is about: the site that the path names; the site of the app that the path names, which services find; or all of the
   * deployment or none.
   */
  scope: "site" | "app" | "deployment";
  /** Every row that it may leave in the audit log. */
  audit: readonly AuditAction[];
}

/** A call of operators: what {@link call} makes and {@link mount} registers. */
export interface Call<C> extends Declaration {
  answer: (c: C) => Answer;
}

/**
 * Makes a call of operators. For one about a site, the handler gets the site that the path names.
 *
 * @throws Error when the scope is not what the parameters of the path say
 */
export function call<C extends OperatorContext>(
  declared: Declaration & { scope: "site" },
  handler: (c: C, site: Site) => Answer,
): Call<C>;
export function call<C extends OperatorContext>(
  declared: Declaration,
  handler: (c: C, site: Site | undefined) => Answer,
): Call<C>;
export function call<C extends OperatorContext>(declared: Declaration, handler: (c: C, site: Site) => Answer): Call<C> {
  const { method, path, scope } = declared;
  const named = scopeOf(path);
  if (scope !== named) throw new Error(`${method} ${path} is about the ${named}, and says ${scope}`);
  const about = handler as (c: C, site?: Site) => Answer;
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
 * @param door lets the signed-in pass. Calls for anyone need not pass it, and paths without a call do: without a token nobody learns which exist
 */
export function mount<E extends Env>(
  routes: Routes<E>,
  calls: readonly Call<Context<E>>[],
  door: MiddlewareHandler<E>,
): void {
  for (const { method, path, role, answer } of calls) {
    // The request alone: hono's `next` would be taken for the site by a handler that may get one.
    const handler = (c: Context<E>) => answer(c);
    if (role === "anyone") routes[method](path, handler);
    else routes[method](path, door, handler);
  }
  routes.use(door);
}
