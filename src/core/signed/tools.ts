import type { Config, Notice } from "../config.ts";
import type { CredentialResolver } from "../credentials/resolve-credentials.ts";
import type { Runtime } from "../runtime.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Trace } from "../telemetry/trace.ts";
import type { NonceMemory } from "./nonce-memory.ts";
import type { ExceededLimits } from "./rate-limit.ts";

/**
 * Tells, after a commit, which webhooks have something due. Deliveries are not the business of a signed call, so it is given this
 * function. Never throws.
 */
export type Notify = (tools: Pick<RequestTools, "config" | "telemetry">, notices: Notice[]) => Promise<void>;

/** What every step gets: the memory of the isolate, the configuration, and the trace of this request. */
export interface RequestTools {
  runtime: Runtime;
  telemetry: Telemetry;
  config: Config;
  credentials: CredentialResolver;
  nonces: NonceMemory;
  limits: ExceededLimits;
  trace: Trace;
  notify: Notify;
  waitUntil: (work: Promise<unknown>) => void;
}
