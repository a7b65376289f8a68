import type { Config } from "../config.ts";
import type { CredentialResolver } from "../credentials/resolve-credentials.ts";
import type { Keyring } from "../credentials/sealed-secret.ts";
import type { Runtime } from "../runtime.ts";
import type { Actor, Author } from "../store/audit-log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/**
 * What every service is given: `verbEntity(ctx, input)`. A service refuses by a ServiceError and by nothing else; what D1 throws
 * comes through as it is. One that is given a `siteId` asks for a site that is there: see `findSite`.
 */
export interface ServiceContext {
  runtime: Runtime;
  telemetry: Telemetry;
  config: Config;
  credentials: CredentialResolver;
  /** Through which face the operator came: the audit log says so. */
  actor: Actor;
  /** Unix seconds. */
  now: number;
  /** For work that goes on after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
}

/** Who changes something and when, for the audit log. */
export const authorOf = ({ actor, now }: ServiceContext): Author => ({ actor, now });

export const keyringOf = ({ credentials, config }: ServiceContext): Promise<Keyring> => credentials.keyring(config);

/** Drops what caches hold of an app: here at once, in KV soon. */
export function forgetApp({ credentials, config, waitUntil }: ServiceContext, appid: string): void {
  credentials.forget(config, appid, waitUntil);
}
