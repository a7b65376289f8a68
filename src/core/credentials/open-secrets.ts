import type { AppRecord } from "./find-app.ts";
import { importKey } from "./import-key.ts";
import { type Keyring, type Slot, unseal } from "./sealed-secret.ts";

/** The keys that verify an app's requests, and the app's place. */
export interface Credentials {
  appid: string;
  siteId: number;
  home: string;
  revoked: boolean;
  /** Whether the app's site has events. */
  events: boolean;
  /** The key of the current secret, and during an overlap the key of the previous one. `expiresAt` is in Unix seconds. */
  keys: { version: string; key: CryptoKey; expiresAt: number }[];
}

/** Whether two records accept the same signatures, and agree on whether the site has events. */
export function sameCredentials(a: Credentials, b: Credentials): boolean {
  const comparedFields = ({ siteId, home, revoked, events, keys }: Credentials) =>
    JSON.stringify([siteId, home, revoked, events, keys.map(({ version, expiresAt }) => [version, expiresAt])]);
  return comparedFields(a) === comparedFields(b);
}

/** A secret in clear text. It stays in memory, and must never reach an answer or a log. */
export interface OpenSecret {
  slot: Slot;
  secret: string;
  /** Unix seconds; infinity for the current secret. */
  expiresAt: number;
}

type SealedSlot = { slot: Slot; version: string; sealed: string; expiresAt: number };

/** An app's secrets as stored, the current one first. */
function sealedSecrets(app: AppRecord): SealedSlot[] {
  const { version, secret, previousVersion, previousSecret, previousExpiresAt } = app;
  const sealed: SealedSlot[] = [{ slot: "current", version, sealed: secret, expiresAt: Number.POSITIVE_INFINITY }];
  if (previousVersion !== null && previousSecret !== null) {
    const expiresAt = previousExpiresAt ?? 0;
    sealed.push({ slot: "previous", version: previousVersion, sealed: previousSecret, expiresAt });
  }
  return sealed;
}

/**
 * An app's credentials with the keys that are valid at `now`. A revoked app has no keys.
 *
 * @param now Unix seconds
 * @throws UnsealError when MASTER_KEY does not open them
 */
export async function openCredentials(keyring: Keyring, app: AppRecord, now: number): Promise<Credentials> {
  const { appid, siteId, home, events } = app;
  const credentials: Credentials = { appid, siteId, home, revoked: app.revokedAt !== null, events, keys: [] };
  if (credentials.revoked) return credentials;
  for (const { slot, version, sealed, expiresAt } of sealedSecrets(app)) {
    if (expiresAt <= now) continue;
    const key = await importKey(await unseal(keyring, { siteId, appid, version }, slot, sealed));
    credentials.keys.push({ version, key, expiresAt });
  }
  return credentials;
}

/**
 * An app's secrets, also an expired one, because the signature check recognises signatures that were made with it.
 *
 * @throws UnsealError when MASTER_KEY does not open them
 */
export async function openSecrets(keyring: Keyring, app: AppRecord): Promise<OpenSecret[]> {
  const { appid, siteId } = app;
  return Promise.all(
    sealedSecrets(app).map(async ({ slot, version, sealed, expiresAt }) => {
      return { slot, expiresAt, secret: await unseal(keyring, { siteId, appid, version }, slot, sealed) };
    }),
  );
}
