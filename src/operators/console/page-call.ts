import { call, type Declaration, type HandlerResult } from "../http/call.ts";
import type { AuditAction } from "../services/audit.ts";
import type { Site } from "../services/sites.ts";
import type { ConsoleCall, PageContext } from "./env.ts";

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
  return call(declaration, (c: PageContext, site) =>
    scope === "site" && site !== undefined ? handler(c, site) : (handler as (c: PageContext) => HandlerResult)(c),
  );
};
