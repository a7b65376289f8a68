import { isAtLeast } from "../access/role.ts";
import type { Declaration } from "../http/call.ts";
import type { Identity } from "../services/identity.ts";
import type { View } from "./view.ts";

type DeclaredCall = Pick<Declaration, "method" | "path" | "role" | "scope">;

/** What decides what somebody may do. */
export type Reader = Pick<Identity, "role" | "onlySite">;

/**
 * What each reader may do in the console, by the roles and the scopes that its calls declare.
 *
 * @returns a function that gives the {@link View.may} of a reader, who is undefined when nobody is signed in
 */
export function mayByRole(calls: readonly DeclaredCall[]): (reader: Reader | undefined) => View["may"] {
  const knownCalls = calls.map(({ method, path, role, scope }) => ({
    method: method.toUpperCase(),
    path: new RegExp(
      `^/console${path === "/" ? "" : path.replace(":site_id", "(?<site>[^/]+)").replaceAll(/:\w+/g, "[^/]+")}$`,
    ),
    neededRole: role,
    scope,
  }));
  return (reader) =>
    (path, method = "POST") => {
      const pathname = path.replace(/[?#].*/s, "");
      const call = knownCalls.find((each) => each.method === method && each.path.test(pathname));
      if (call === undefined || call.neededRole === "anyone") return call !== undefined;
      if (reader === undefined || !isAtLeast(reader.role, call.neededRole)) return false;
      const { onlySite } = reader;
      if (onlySite === undefined) return true;
      const site = call.path.exec(pathname)?.groups?.site;
      return call.scope === "site" ? site === String(onlySite) : call.scope !== "deployment";
    };
}
