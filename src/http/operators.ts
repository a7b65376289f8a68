import { admin } from "./admin/routes.ts";
import { operatorConsole } from "./console/console.tsx";
import { newHono, type Routes } from "./new-hono.ts";
import type { Isolate } from "./request-context.ts";
import { requestLog } from "./request-log.ts";

/** The surfaces of operators: the admin API and the console. */
export function operatorsApp(isolate: Isolate): Routes {
  const app = newHono();
  app.use(requestLog(isolate));
  app.route("/admin", admin());
  app.route("/console", operatorConsole());
  return app;
}
