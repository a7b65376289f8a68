import type { Env } from "hono";
import { ServiceError } from "../errors.ts";
import type { Violation } from "../rules.ts";
import type { Routes } from "./new-hono.ts";

/**
 * Answers a wrong method on a known path with 405 and `Allow`; hono would answer 404. Call it after all routes are added.
 *
 * @param tellViolations whether the answer names the broken rule too
 */
export function refuseOtherMethods<E extends Env>(routes: Routes<E>, tellViolations?: true): void {
  const served = Map.groupBy(
    routes.routes.filter(({ method }) => method !== "ALL"),
    ({ path }) => path,
  );
  for (const [path, handlers] of served) {
    const allow = [...new Set(handlers.map(({ method }) => method))].join(", ");
    const toldViolations = tellViolations && {
      violations: [{ field: "method", rule: "method", values: [allow] } as const],
      tellViolations,
    };
    routes.all(path, () => {
      throw new ServiceError("method_not_allowed", { reason: "method_not_allowed", allow, ...toldViolations });
    });
  }
}

/** Refuses every path without a route. Call it last. Hono's own `notFound` does not work here: it is ignored in a mounted app. */
export function refuseOtherPaths<E extends Env>(routes: Routes<E>): void {
  routes.all("*", () => {
    throw routeNotFound();
  });
}

/** @param violation the rule that the answer states */
export const routeNotFound = (violation?: Violation): ServiceError =>
  new ServiceError("route_not_found", {
    reason: "route_not_found",
    ...(violation !== undefined && { violations: [violation], tellViolations: true as const }),
  });
