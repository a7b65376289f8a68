import { CredentialResolver } from "./credentials/resolve-credentials.ts";
import { admin } from "./http/admin/routes.ts";
import { operatorConsole } from "./http/console/console.tsx";
import { health } from "./http/health.ts";
import { newHono, type Routes } from "./http/new-hono.ts";
import { refuseOtherMethods, routeNotFound } from "./http/refuse-other-methods.ts";
import type { Isolate } from "./http/request-context.ts";
import { requestLog } from "./http/request-log.ts";
import { onError } from "./http/signed/on-error.ts";
import { signedRoute } from "./http/signed/route.ts";
import { OPERATIONS } from "./operations/index.ts";
import { PassedLimits } from "./rate-limit.ts";
import { NonceMemory } from "./replay/nonce-memory.ts";
import { type Runtime, systemRuntime } from "./runtime.ts";
import { consoleTelemetry, type Telemetry } from "./telemetry/telemetry.ts";

/** For whoever calls another path. */
const CALLS = `the calls are ${OPERATIONS.map(({ path }) => `POST ${path}`).join(" and ")}`;

/**
 * Builds the application: its middleware and faces, in their order.
 *
 * @param runtime   time and chance; tests give their own
 * @param telemetry where records go
 */
export function createApp(runtime: Runtime = systemRuntime, telemetry: Telemetry = consoleTelemetry): Routes {
  const isolate: Isolate = {
    runtime,
    telemetry,
    credentials: new CredentialResolver(runtime, telemetry),
    nonces: new NonceMemory(runtime),
    limits: new PassedLimits(runtime),
  };
  const app = newHono();
  app.onError(onError);
  app.notFound((c) => onError(routeNotFound(CALLS), c));
  app.use(requestLog(isolate));

  for (const operation of OPERATIONS) app.post(operation.path, signedRoute(operation));
  app.get("/healthz", health());
  refuseOtherMethods(app);

  app.route("/admin", admin());
  app.route("/console", operatorConsole());
  return app;
}
