import type { Env } from "hono";
import { ServiceError } from "../errors.ts";
import type { Routes } from "./new-hono.ts";

/** Answers other methods on a path that has routes with 405 and `Allow`, instead of 404. Call it after the routes. */
export function refuseOtherMethods<E extends Env>(routes: Routes<E>): void {
  const served = Map.groupBy(
    routes.routes.filter(({ method }) => method !== "ALL"),
    ({ path }) => path,
  );
  for (const [path, handlers] of served) {
    const allow = [...new Set(handlers.map(({ method }) => method))].join(", ");
    routes.all(path, () => {
      throw new ServiceError("method_not_allowed", { reason: "method_not_allowed", allow });
    });
  }
}

/** Refuses every path that has no route. Call it last. Needed because Hono ignores `notFound` of a mounted app. */
export function refuseOtherPaths<E extends Env>(routes: Routes<E>): void {
  routes.all("*", () => {
    throw routeNotFound();
  });
}

/** @param detail what the caller may be told */
export const routeNotFound = (detail?: string): ServiceError =>
  new ServiceError("route_not_found", {
    reason: "route_not_found",
    ...(detail !== undefined && { detail, tell: true as const }),
  });
