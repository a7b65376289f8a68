import type { CredentialBindings, CredentialResolver } from "../credentials/resolve-credentials.ts";
import type { Keyring } from "../credentials/sealed-secret.ts";
import type { Runtime } from "../runtime.ts";
import type { Author } from "../store/audit-log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** What every change to an app needs, whichever door it comes through. */
export interface AppDesk {
  runtime: Runtime;
  telemetry: Telemetry;
  db: D1Database;
  by: Author;
  keyring: () => Promise<Keyring>;
  /** Drops what caches hold of an app. */
  forget: (appid: string) => void;
}

export function appDesk(
  isolate: { runtime: Runtime; telemetry: Telemetry; credentials: CredentialResolver },
  bindings: CredentialBindings,
  by: Author,
  waitUntil: (work: Promise<unknown>) => void,
): AppDesk {
  const { runtime, telemetry, credentials: resolver } = isolate;
  return {
    ...{ runtime, telemetry },
    db: bindings.directory,
    by,
    keyring: () => resolver.keyring(bindings),
    forget: (appid) => resolver.forget(bindings, appid, waitUntil),
  };
}
