import type { Context } from "hono";
import type { Bindings, Config } from "../config.ts";
import type { CredentialResolver } from "../credentials/resolve-credentials.ts";
import type { Runtime } from "../runtime.ts";
import type { NonceMemory } from "../signed/nonce-memory.ts";
import type { ExceededLimits } from "../signed/rate-limit.ts";
import type { Notify } from "../signed/tools.ts";
import type { Stalls } from "../store/stalls.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Trace } from "../telemetry/trace.ts";

/** What an isolate keeps from request to request. */
export interface Isolate {
  runtime: Runtime;
  telemetry: Telemetry;
  credentials: CredentialResolver;
  nonces: NonceMemory;
  limits: ExceededLimits;
  stalls: Stalls;
  notify: Notify;
  /** The settings. @throws ConfigurationError */
  configOf: (env: Bindings) => Config;
}

/** The Hono types that all surfaces share. A surface that keeps more in `c.var` has its own type. */
export type App = {
  Bindings: Bindings;
  Variables: {
    trace: Trace;
    isolate: Isolate;
  };
};
/** A request's context for code that all surfaces share. It leaves out `get` and `set`: with them, no surface's own context would fit. */
export type RequestContext = Omit<Context<App>, "get" | "set">;
