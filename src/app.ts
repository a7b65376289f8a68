import { getPath } from "hono/utils/url";
import { version } from "../package.json";
import { readConfig } from "./config.ts";
import type { Bindings } from "./core/config.ts";
import { CredentialResolver } from "./core/credentials/resolve-credentials.ts";
import type { Routes } from "./core/http/new-hono.ts";
import { refuseOtherMethods } from "./core/http/refuse-other-methods.ts";
import type { Isolate } from "./core/http/request-context.ts";
import { addCalls, rootApp } from "./core/http/root-app.ts";
import { type Runtime, systemRuntime } from "./core/runtime.ts";
import { NonceMemory } from "./core/signed/nonce-memory.ts";
import { ExceededLimits } from "./core/signed/rate-limit.ts";
import { Stalls } from "./core/store/stalls.ts";
import { consoleTelemetry, type Telemetry } from "./core/telemetry/telemetry.ts";
import type { Trace } from "./core/telemetry/trace.ts";
import { notifyQueue } from "./events/notify-queue.ts";
import { docsNotFound } from "./operators/http/docs-not-found.ts";
import { health } from "./operators/http/health.ts";
import type { SendsSigned } from "./operators/http/in-process-call.ts";
import { journalRefusals } from "./operators/http/journal-refusals.ts";
import { Journal } from "./operators/journal/journal.ts";

/** The log of a deployment. */
export const systemTelemetry = consoleTelemetry(version);

/** The paths of the admin API and the console. All other paths are for callers. */
const OPERATOR_PATH = /^\/(?:admin|console)(?:\/|$)/;

/**
 * Builds the application. The surfaces of operators are imported at their first request, so that an isolate that serves only signed
 * calls does not load them.
 *
 * @param runtime   time and chance; tests give their own
 * @param telemetry where log records go
 */
export function createApp(runtime: Runtime = systemRuntime, telemetry: Telemetry = systemTelemetry) {
  const stalls = new Stalls(runtime);
  const isolate: Isolate = {
    runtime,
    telemetry,
    credentials: new CredentialResolver(runtime, telemetry),
    nonces: new NonceMemory(runtime),
    limits: new ExceededLimits(runtime),
    stalls,
    notify: notifyQueue,
    configOf: (env) => stalls.guardDatabases(readConfig(env, telemetry)),
  };
  const journal = new Journal(runtime, telemetry);
  const callers = callersApp(isolate, journal);
  let operators: Routes | undefined;
  return {
    async fetch(request: Request, env: Bindings, ctx: ExecutionContext): Promise<Response> {
      if (!OPERATOR_PATH.test(getPath(request))) return callers.fetch(request, env, ctx);
      const made = operators ?? (await operatorsApp(isolate, journal));
      // Simultaneous first requests share one app, with one memory and its limits.
      operators ??= made;
      return operators.fetch(request, env, ctx);
    },
  };
}

/** @param onTrace receives the trace of each request, after its answer is made */
function callersApp(isolate: Isolate, journal: Journal, onTrace?: (trace: Trace) => void): Routes {
  const app = rootApp(isolate);
  if (onTrace !== undefined) {
    app.use(async function tellTrace(c, next) {
      await next();
      onTrace(c.var.trace);
    });
  }
  app.use(journalRefusals(journal));
  addCalls(app);
  app.get("/healthz", health());
  refuseOtherMethods(app, true);
  // These routes come after refuseOtherMethods, so other methods than GET and HEAD are 404 here. A redirect in a file would take all methods.
  app.get("/", (c) => c.redirect("/docs/", 302));
  app.get("/docs/*", docsNotFound());
  return app;
}

async function operatorsApp(isolate: Isolate, journal: Journal): Promise<Routes> {
  try {
    const { addOperatorSurfaces } = await import("./operators/surfaces.ts");
    return addOperatorSurfaces(rootApp(isolate), isolate, sendsSigned(isolate, journal));
  } catch (error) {
    // Code that does not load is a fault like any other: the answer has an x-request-id, and the fault is logged.
    const broken = rootApp(isolate);
    broken.all("*", () => {
      throw error;
    });
    return broken;
  }
}

/** Sends a request to the callers' surface as if it came from outside. All steps run, and each has its usual effects. */
function sendsSigned(isolate: Isolate, journal: Journal): SendsSigned {
  return async (request, env, ctx) => {
    let trace: Trace | undefined;
    const keep = (newTrace: Trace) => {
      trace = newTrace;
    };
    const answer = await callersApp(isolate, journal, keep).fetch(request, env, ctx);
    return { answer, reason: trace?.reason, violations: trace?.violations };
  };
}
