import { OperatorMemory } from "../services/operator-memory.ts";
import { admin } from "./admin/routes.ts";
import { operatorConsole } from "./console/console.tsx";
import type { SendsSigned } from "./in-process-call.ts";
import type { Routes } from "./new-hono.ts";
import type { Isolate } from "./request-context.ts";

/** Adds the surfaces of operators: the admin API and the console. */
export function addOperatorSurfaces(
  app: Routes,
  { runtime, telemetry }: Pick<Isolate, "runtime" | "telemetry">,
  sendSigned: SendsSigned,
): Routes {
  const memory = new OperatorMemory(runtime, telemetry);
  app.route("/admin", admin(memory));
  app.route("/console", operatorConsole(memory, sendSigned));
  return app;
}
