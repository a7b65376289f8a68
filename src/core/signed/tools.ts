import type { Config, Notice } from "../config.ts";
import type { CredentialResolver } from "../credentials/resolve-credentials.ts";
import type { Runtime } from "../runtime.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Trace } from "../telemetry/trace.ts";
import type { NonceMemory } from "./nonce-memory.ts";
import type { ExceededLimits } from "./rate-limit.ts";

/**
 * Tells the queue, after a commit, which webhooks have due deliveries. A signed call gets this function as a tool, because its code
 * knows nothing of deliveries. Never throws.
 */
export type Notify = (tools: Pick<RequestTools, "config" | "telemetry">, notices: Notice[]) => Promise<void>;

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
