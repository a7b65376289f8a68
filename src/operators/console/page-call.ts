import { isAtLeast } from "../access/role.ts";
import { call, type Declaration, type HandlerResult } from "../http/call.ts";
import type { AuditAction } from "../services/audit.ts";
import type { Identity } from "../services/identity.ts";
import type { Site } from "../services/sites.ts";
import type { ConsoleCall, PageContext } from "./env.ts";
import { readForm } from "./forms/read-form.ts";
import type { View } from "./view.ts";

/** The handler of a call. The handler of a path with a site gets this site. */
type Handler<Path extends string> = Path extends `${string}:site_id${string}`
  ? (c: PageContext, site: Site) => HandlerResult
  : (c: PageContext) => HandlerResult;

/** A path with a site is about this site, and any other about the whole deployment, unless `scope` says more. */
type More = Pick<Declaration, "endedToo"> & { scope?: "sites" | "own" };

/** Declares a page: a `get` that changes nothing. @param path below `/console` */
export const page = <Path extends string>(
  role: Declaration["role"],
  path: Path,
  handler: Handler<Path>,
  more: More = {},
): ConsoleCall => declared({ method: "get", audit: [], role, path, scope: scopeOf(path), ...more }, handler);

/**
 * Declares what a form is posted to.
 *
 * @param audit the actions that it may write to the audit log; or a sentence that says why it changes nothing
 */
export const form = <Path extends string>(
  role: Declaration["role"],
  path: Path,
  audit: readonly [AuditAction, ...AuditAction[]] | string,
  handler: Handler<Path>,
  more: More = {},
): ConsoleCall => {
  const common = { method: "post", role, path, scope: scopeOf(path), ...more } as const;
  if (typeof audit === "string") return declared({ ...common, audit: [], changesNothing: audit }, handler);
  return declared({ ...common, audit }, handler);
};

const scopeOf = (path: string) => (path.includes(":site_id") ? "site" : "deployment");

/** A handler without a site must not get what else is passed: a page takes its second argument for a form that is shown again. */
const declared = <Path extends string>(declaration: Declaration, handler: Handler<Path>): ConsoleCall => {
  const { scope } = declaration;
  return call(declaration, async (c: PageContext, site) => {
    if (declaration.method === "post") await readForm(c);
    if (scope !== "site" || site === undefined) return (handler as (c: PageContext) => HandlerResult)(c);
    c.var.view.isHomeClosed = c.var.view.closedHomes.has(site.home);
    return handler(c, site);
  });
};

/** Gives the {@link View.may} of a reader, by the roles and the scopes that the console's calls declare. */
export function mayByRole(calls: readonly Pick<Declaration, "method" | "path" | "role" | "scope">[]) {
  const knownCalls = calls.map(({ method, path, role, scope }) => {
    const pattern = path.replace(":site_id", "(?<site>[^/]+)").replaceAll(/:\w+/g, "[^/]+");
    return { method: method.toUpperCase(), path: new RegExp(`^/console${path === "/" ? "" : pattern}$`), role, scope };
  });
  return (reader: Pick<Identity, "role" | "onlySite"> | undefined): View["may"] =>
    (path, method = "POST") => {
      const pathname = path.replace(/[?#].*/s, "");
      const call = knownCalls.find((each) => each.method === method && each.path.test(pathname));
      if (call === undefined || call.role === "anyone") return call !== undefined;
      if (reader === undefined || !isAtLeast(reader.role, call.role)) return false;
      const { onlySite } = reader;
      if (onlySite === undefined) return true;
      const site = call.path.exec(pathname)?.groups?.site;
      return call.scope === "site" ? site === String(onlySite) : call.scope !== "deployment";
    };
}
