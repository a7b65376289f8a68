import { admin } from "./admin/routes.ts";
import { operatorConsole } from "./console/console.tsx";
import type { Routes } from "./new-hono.ts";

/** Adds the surfaces of operators: the admin API and the console. */
export function addOperatorSurfaces(app: Routes): Routes {
  app.route("/admin", admin());
  app.route("/console", operatorConsole());
  return app;
}
