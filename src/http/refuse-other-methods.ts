import type { Env } from "hono";
import { ServiceError } from "../errors.ts";
import type { Routes } from "./new-hono.ts";

/** Answers any other method on a path that has a route: 405 with the right ones, not 404. To be called after the routes. */
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

/** Answers every path that has no route. To be called last; a part of an app has no `notFound` of its own. */
export function refuseOtherPaths<E extends Env>(routes: Routes<E>): void {
  routes.all("*", () => {
    throw routeNotFound();
  });
}

export const routeNotFound = (): ServiceError => new ServiceError("route_not_found", { reason: "route_not_found" });
