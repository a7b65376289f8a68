import { getPath } from "hono/utils/url";
import { readConfig } from "./config.ts";
import type { Bindings } from "./core/config.ts";
import { addCalls, rootApp } from "./core/http/routes.ts";
import { CredentialResolver } from "./credentials/resolve-credentials.ts";
import { docsNotFound } from "./http/docs-not-found.ts";
import { health } from "./http/health.ts";
import type { SendsSigned } from "./http/in-process-call.ts";
import type { Routes } from "./http/new-hono.ts";
import { refuseOtherMethods } from "./http/refuse-other-methods.ts";
import type { Isolate } from "./http/request-context.ts";
import { journalRefusals } from "./http/signed/journal-refusals.ts";
import { Journal } from "./journal/journal.ts";
import { type Runtime, systemRuntime } from "./runtime.ts";
import { NonceMemory } from "./signed/nonce-memory.ts";
import { ExceededLimits } from "./signed/rate-limit.ts";
import { consoleTelemetry, type Telemetry } from "./telemetry/telemetry.ts";
import { notifyQueue } from "./webhooks/notify-queue.ts";

/** The paths of the admin API and the console. All other paths are for callers. */
const OF_OPERATORS = /^\/(?:admin|console)(?:\/|$)/;

/**
 * Builds the application. The surfaces of operators are imported at their first request, so an isolate that serves only signed
 * calls never pays for them.
 *
 * @param runtime   time and chance; tests give their own
 * @param telemetry where log records go
 */
export function createApp(runtime: Runtime = systemRuntime, telemetry: Telemetry = consoleTelemetry) {
  const isolate: Isolate = {
    runtime,
    telemetry,
    credentials: new CredentialResolver(runtime, telemetry),
    nonces: new NonceMemory(runtime),
    limits: new ExceededLimits(runtime),
    notify: notifyQueue,
    configOf: (env) => readConfig(env, telemetry),
  };
  const journal = new Journal(runtime, telemetry);
  const callers = callersApp(isolate, journal);
  let operators: Routes | undefined;
  return {
    async fetch(request: Request, env: Bindings, ctx: ExecutionContext): Promise<Response> {
      if (!OF_OPERATORS.test(getPath(request))) return callers.fetch(request, env, ctx);
      operators ??= await operatorsApp(isolate, journal);
      return operators.fetch(request, env, ctx);
    },
  };
}

function callersApp(isolate: Isolate, journal: Journal): Routes {
  const app = rootApp(isolate);
  app.use(journalRefusals(journal));
  addCalls(app);
  app.get("/healthz", health());
  refuseOtherMethods(app);
  app.get("/docs/*", docsNotFound());
  return app;
}

async function operatorsApp(isolate: Isolate, journal: Journal): Promise<Routes> {
  try {
    const { addOperatorSurfaces } = await import("./http/operators.ts");
    return addOperatorSurfaces(rootApp(isolate), isolate, sendsSigned(isolate, journal));
  } catch (error) {
    // Code that does not load is a fault like any other: answered with its x-request-id, and logged.
    const broken = rootApp(isolate);
    broken.all("*", () => {
      throw error;
    });
    return broken;
  }
}

/** Sends a request to the callers' surface as if it came from outside: every step is walked, and leaves what it always leaves. */
function sendsSigned(isolate: Isolate, journal: Journal): SendsSigned {
  return async (request, env, ctx) => {
    let reason: string | undefined;
    const { telemetry } = isolate;
    const listening: Telemetry = {
      request(record, failed) {
        reason = record.reason;
        telemetry.request(record, failed);
      },
      job: (record) => telemetry.job(record),
      warn: (record) => telemetry.warn(record),
    };
    const answer = await callersApp({ ...isolate, telemetry: listening }, journal).fetch(request, env, ctx);
    return { answer, reason };
  };
}
