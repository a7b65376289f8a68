import type { Context, Env } from "hono";
import { ServiceError } from "../../core/errors.ts";
import type { Routes } from "../../core/http/new-hono.ts";
import { isAtLeast, type Role } from "../access/role.ts";
import { appUnknown, roleTooLow, siteUnknown } from "../services/refusals.ts";
import { hasEnded, type Site } from "../services/sites.ts";
import type { AuditAction, Who } from "../store/audit.ts";
import { identityOf, type OperatorContext, siteOf } from "./context.ts";

export type HandlerResult = Response | Promise<Response>;

/** The actions that a call may write to the audit log. A call that may change something must declare one, or say why it changes nothing. */
type AuditedMethod =
  | { method: "get"; audit: readonly AuditAction[] }
  | { method: "post" | "patch" | "delete"; audit: readonly [AuditAction, ...AuditAction[]] }
  | { method: "post"; audit: readonly []; changesNothing: string };

export type Declaration = AuditedMethod & {
  /** The path below the surface's own. */
  path: string;
  /** Who may make it. A higher role may too. */
  role: Role | "anyone";
  /**
   * What it is about: the site that the path names; the site of the app that the path names (services look it up); all sites that
   * the operator sees; what is the operator's own; or the whole deployment, which nobody of one site may touch.
   */
  scope: "site" | "app" | "sites" | "own" | "deployment";
  /** Whether it is also about sites that are being deleted, or are deleted. To every other call they are unknown. */
  endedToo?: true;
};

/** A call of operators: {@link call} makes it, {@link mount} registers it. */
export type Call<C> = Declaration & {
  /** Gets the site of the path, when the scope is a site. */
  answer: (c: C, site?: Site) => HandlerResult;
};

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
  const scopesOfPath = scopesOf(path);
  if (!scopesOfPath.includes(scope))
    throw new Error(`${method} ${path} is about the ${scopesOfPath[0]}, and says ${scope}`);
  return { ...declared, answer: handler as Call<C>["answer"] };
}

function scopesOf(path: string): Declaration["scope"][] {
  const parts = path.split("/");
  if (parts.includes(":site_id")) return ["site"];
  return parts.includes(":appid") ? ["app"] : ["deployment", "sites", "own"];
}

/** Finds out who calls, and sets `ctx.identity`. An answer that it returns replaces the call's: it asks a visitor to sign in. */
type Identify<E extends Env> = (c: Context<E>) => Promise<Response | undefined>;

/**
 * Registers the calls of a surface, in their order. For an operator of one site, the scope is checked before the role: everything of
 * another site is unknown to them.
 *
 * @param identify stops requests of unknown people, also for unknown paths: otherwise a stranger could learn which paths exist. Calls for
 *   `anyone` do not pass it
 */
export function mount<E extends Env & { Variables: OperatorContext["var"] }>(
  routes: Routes<E>,
  calls: readonly Call<Context<E>>[],
  identify: Identify<E>,
): void {
  for (const each of calls) {
    const handler =
      each.role === "anyone"
        ? // The handler gets one argument: it would take hono's second one, `next`, for the site.
          (c: Context<E>) => {
            refuseRepeated(c.req.url);
            return each.answer(c);
          }
        : async (c: Context<E>) => {
            const instead = await identify(c);
            if (instead !== undefined) return instead;
            const site = await admit(c as unknown as OperatorContext, each);
            refuseRepeated(c.req.url);
            return each.answer(c, site);
          };
    routes[each.method](each.path, handler);
  }
  routes.use(async (c, next) => (await identify(c)) ?? next());
}

/**
 * Refuses a parameter of the query that is given twice, also with the same value: hono would take the first, a proxy perhaps the last.
 *
 * @throws ServiceError `invalid_input`, reason `parameter_repeated`, naming it
 */
function refuseRepeated(url: string): void {
  const names = [...new URL(url).searchParams.keys()];
  const field = names.find((name, index) => names.indexOf(name) < index);
  if (field === undefined) return;
  const issues = [{ field, message: "must be given once" }];
  throw new ServiceError("invalid_input", { reason: "parameter_repeated", issues });
}

/**
 * Lets a known operator into a call. @returns the site of the path, when the scope is a site
 *
 * @throws ServiceError `not_found` for what belongs to another site; `forbidden`, reason `token_of_one_site`,
 * `person_of_one_site` or `role_too_low`
 */
async function admit(c: OperatorContext, { role, scope, endedToo }: Declaration): Promise<Site | undefined> {
  const { onlySite, role: ownRole, who } = identityOf(c);
  const isTooLow = role !== "anyone" && !isAtLeast(ownRole, role);
  if (isTooLow && onlySite === undefined) throw roleTooLow(role, ownRole);
  const site = scope === "site" ? await siteOf(c) : undefined;
  if (site !== undefined && hasEnded(site) && endedToo !== true) throw siteUnknown();
  if (onlySite !== undefined) {
    if (site !== undefined && site.id !== onlySite) throw siteUnknown();
    if (scope === "app" && siteOfApp(c) !== onlySite) throw appUnknown();
    if (scope === "deployment") throw onlySiteRefused(who.kind);
  }
  if (isTooLow) throw roleTooLow(role, ownRole);
  if (site !== undefined) c.set("site", site);
  return site;
}

/** The site of the app that the path names, as the directory said when it was asked for the token. */
function siteOfApp({ var: { foundByDirectory } }: OperatorContext): number | null {
  if (foundByDirectory === undefined)
    throw new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1 });
  return foundByDirectory.siteOfApp;
}

const onlySiteRefused = (kind: Who["kind"]) =>
  new ServiceError("forbidden", {
    reason: kind === "person" ? "person_of_one_site" : "token_of_one_site",
    detail: `This call is about the whole deployment, and ${kind === "person" ? "you see one site" : "the token is of one site"}.`,
  });
