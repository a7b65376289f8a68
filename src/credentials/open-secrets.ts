import type { Runtime } from "../runtime.ts";
import { type AppRecord, findApp } from "../store/directory/apps.ts";
import { type Keyring, type Slot, unseal } from "./sealed-secret.ts";

/** A secret in the clear: for a comparison in memory, never for an answer or a log. */
export interface OpenSecret {
  slot: Slot;
  secret: string;
  /** Unix seconds; infinite for the current one. */
  expiresAt: number;
}

/**
 * An app with its secrets, past ones included, so that a signature made with the wrong one can be told.
 *
 * @throws UnsealError when MASTER_KEY does not open them
 */
export async function openSecrets(
  runtime: Runtime,
  db: D1Database,
  keyring: Keyring,
  appid: string,
): Promise<{ app: AppRecord; secrets: OpenSecret[] } | undefined> {
  const app = await findApp(runtime, db, appid);
  if (app === null) return undefined;
  const open = (slot: Slot, version: string, sealed: string) => unseal(keyring, { ...app, version }, slot, sealed);
  const secrets: OpenSecret[] = [
    { slot: "current", secret: await open("current", app.version, app.secret), expiresAt: Number.POSITIVE_INFINITY },
  ];
  if (app.previousSecret !== null && app.previousVersion !== null) {
    const secret = await open("previous", app.previousVersion, app.previousSecret);
    secrets.push({ slot: "previous", secret, expiresAt: Number(app.previousExpiresAt) });
  }
  return { app, secrets };
}
