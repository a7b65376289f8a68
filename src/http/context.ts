import type { Context } from "hono";
import { type Bindings, type Config, readConfig } from "../config.ts";
import type { CredentialResolver } from "../credentials/resolve-credentials.ts";
import type { PassedLimits } from "../rate-limit.ts";
import type { NonceMemory } from "../replay/nonce-memory.ts";
import type { Runtime } from "../runtime.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Trace } from "../telemetry/trace.ts";

/** What lives as long as the isolate does. */
export interface Isolate {
  runtime: Runtime;
  telemetry: Telemetry;
  credentials: CredentialResolver;
  nonces: NonceMemory;
  limits: PassedLimits;
}

/** What every request has, whichever face answers it. A face that keeps more in `c.var` has a type of its own. */
export type App = {
  Bindings: Bindings;
  Variables: {
    trace: Trace;
    isolate: Isolate;
  };
};
/** A request's context as the common parts need it. Without `get` and `set`, the context of every face fits. */
export type RequestContext = Omit<Context<App>, "get" | "set">;

/** @throws ConfigurationError see {@link readConfig} */
export const configOf = (c: RequestContext): Config => readConfig(c.env, c.var.isolate.telemetry);
