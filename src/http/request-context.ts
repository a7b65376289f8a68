import type { Context } from "hono";
import { type Bindings, type Config, readConfig } from "../config.ts";
import type { CredentialResolver } from "../credentials/resolve-credentials.ts";
import type { Runtime } from "../runtime.ts";
import type { NonceMemory } from "../signed/nonce-memory.ts";
import type { ExceededLimits } from "../signed/rate-limit.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Trace } from "../telemetry/trace.ts";

/** What is kept for the lifetime of the isolate. */
export interface Isolate {
  runtime: Runtime;
  telemetry: Telemetry;
  credentials: CredentialResolver;
  nonces: NonceMemory;
  limits: ExceededLimits;
}

/** The Hono types that all faces share. A face that keeps more in `c.var` has its own type. */
export type App = {
  Bindings: Bindings;
  Variables: {
    trace: Trace;
    isolate: Isolate;
  };
};
/** A request's context for code that all faces share. Without `get` and `set`, the context type of every face is assignable. */
export type RequestContext = Omit<Context<App>, "get" | "set">;

/** @throws ConfigurationError see {@link readConfig} */
export const configOf = (c: RequestContext): Config => readConfig(c.env, c.var.isolate.telemetry);
