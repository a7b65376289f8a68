import type { Config } from "../config.ts";
import type { CredentialResolver } from "../credentials/resolve-credentials.ts";
import type { Keyring } from "../credentials/sealed-secret.ts";
import type { Runtime } from "../runtime.ts";
import type { Actor, Author } from "../store/audit-log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/**
 * The first argument of every service: `verbEntity(ctx, input)`. A service refuses by throwing a ServiceError; errors of D1 pass
 * through. A service with a `siteId` expects a site that exists: check it with `findSite` before.
 */
export interface ServiceContext {
  runtime: Runtime;
  telemetry: Telemetry;
  config: Config;
  credentials: CredentialResolver;
  /** The face that the operator uses, for the audit log. */
  actor: Actor;
  /** Unix seconds. */
  now: number;
  /** Keeps the Worker alive for work that continues after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
}

/** Who makes a change and when, for the audit log. */
export const authorOf = ({ actor, now }: ServiceContext): Author => ({ actor, now });

export const keyringOf = ({ credentials, config }: ServiceContext): Promise<Keyring> => credentials.keyring(config);

/** Drops an app from the caches: from this isolate at once, from KV after the answer. */
export function forgetApp({ credentials, config, waitUntil }: ServiceContext, appid: string): void {
  credentials.forget(config, appid, waitUntil);
}
