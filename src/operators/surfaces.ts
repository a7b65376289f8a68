import type { Routes } from "../core/http/new-hono.ts";
import type { Isolate } from "../core/http/request-context.ts";
import { adminRoutes } from "./admin/routes.ts";
import { operatorConsole } from "./console/console.tsx";
import type { SendsSigned } from "./http/in-process-call.ts";
import { OperatorMemory } from "./services/operator-memory.ts";

/** Adds the surfaces of operators: the admin API and the console. */
export function addOperatorSurfaces(
  app: Routes,
  { runtime, telemetry }: Pick<Isolate, "runtime" | "telemetry">,
  sendSigned: SendsSigned,
): Routes {
  const memory = new OperatorMemory(runtime, telemetry);
  app.route("/admin", adminRoutes(memory));
  app.route("/console", operatorConsole(memory, sendSigned));
  return app;
}
