import { isAtLeast, type Role } from "../access/role.ts";
import type { Declaration } from "../http/call.ts";
import type { View } from "./view.ts";

type DeclaredCall = Pick<Declaration, "method" | "path" | "role">;

/**
 * What each role may do in the console, by the roles that its calls declare.
 *
 * @returns a function that gives the {@link View.may} of a role. The role is undefined when nobody is signed in
 */
export function mayByRole(calls: readonly DeclaredCall[]): (role: Role | undefined) => View["may"] {
  const callRoles = calls.map(({ method, path, role }) => ({
    method: method.toUpperCase(),
    path: new RegExp(`^/console${path === "/" ? "" : path.replaceAll(/:\w+/g, "[^/]+")}$`),
    needed: role,
  }));
  return (role) =>
    (path, method = "POST") => {
      const pathname = path.replace(/[?#].*/s, "");
      const neededRole = callRoles.find(
        (callRole) => callRole.method === method && callRole.path.test(pathname),
      )?.needed;
      return neededRole === "anyone" || (neededRole !== undefined && role !== undefined && isAtLeast(role, neededRole));
    };
}
