import type { Runtime } from "../runtime.ts";

/**
 * The secrets of apps and webhooks, and those of the deployment itself, as stored: `v2.<key id>.<iv>.<ciphertext>`, AES-256-GCM under a
 * master key. Site, owner, version and slot are associated data: a sealed secret does not open for another site, owner, version or slot.
 */

export type Slot = "current" | "previous";

/**
 * The owner of a secret, and the secret's version. The version stays the same when the secret moves to the previous slot. A secret of
 * the deployment itself has the site 0 and a purpose.
 */
export type SecretOwner = { siteId: number; version: string } & (
  | { appid: string }
  | { webhookId: string }
  | { purpose: string }
);

/** The master keys. One of them seals; all of them unseal. */
export interface Keyring {
  sealing: MasterKey;
  byId: ReadonlyMap<string, MasterKey>;
}

interface MasterKey {
  id: string;
  key: CryptoKey;
}

/** No configured master key opens the sealed secret: MASTER_KEY is wrong, or the data is damaged. The message holds no secret. */
export class UnsealError extends Error {
  override readonly name = "UnsealError";
}

const IV_BYTES = 12;
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;

/** @param masterKeys 32 bytes each; the first one seals */
export async function importKeyring(
  masterKeys: readonly [Uint8Array<ArrayBuffer>, ...Uint8Array<ArrayBuffer>[]],
): Promise<Keyring> {
  const [sealing, ...others] = await Promise.all([
    importMasterKey(masterKeys[0]),
    ...masterKeys.slice(1).map(importMasterKey),
  ]);
  return { sealing, byId: new Map([...others, sealing].map((masterKey) => [masterKey.id, masterKey])) };
}

export async function seal(
  runtime: Pick<Runtime, "bytes">,
  keyring: Keyring,
  owner: SecretOwner,
  slot: Slot,
  secret: string,
): Promise<string> {
  const { id, key } = keyring.sealing;
  const iv = runtime.bytes(IV_BYTES);
  const algorithm = aesGcm(iv, associatedData(owner, slot));
  const sealed = await crypto.subtle.encrypt(algorithm, key, new TextEncoder().encode(secret));
  return ["v2", id, iv.toBase64(BASE64URL), new Uint8Array(sealed).toBase64(BASE64URL)].join(".");
}

/** @throws UnsealError */
export async function unseal(keyring: Keyring, owner: SecretOwner, slot: Slot, sealed: string): Promise<string> {
  const name = "appid" in owner ? `app ${owner.appid}` : nameOf(owner);
  const [form, keyId, iv, ciphertext] = sealed.split(".");
  if (form !== "v2" || keyId === undefined || iv === undefined || ciphertext === undefined) {
    throw new UnsealError(`the ${slot} secret of ${name} is in no known form`);
  }
  const masterKey = keyring.byId.get(keyId);
  if (masterKey === undefined) {
    throw new UnsealError(
      `the ${slot} secret of ${name} was sealed with master key ${keyId}; MASTER_KEY is ${keyring.sealing.id}`,
    );
  }
  try {
    const algorithm = aesGcm(Uint8Array.fromBase64(iv, BASE64URL), associatedData(owner, slot));
    const secret = await crypto.subtle.decrypt(algorithm, masterKey.key, Uint8Array.fromBase64(ciphertext, BASE64URL));
    return new TextDecoder().decode(secret);
  } catch {
    throw new UnsealError(`the ${slot} secret of ${name} is damaged or was sealed for another site, owner or version`);
  }
}

/** The start of every secret that is sealed with the current master key. */
export const sealMark = (keyring: Keyring): string => `v2.${keyring.sealing.id}.`;

/** The starts of all secrets that the keyring may open. */
export const sealMarks = (keyring: Keyring): string[] => [...keyring.byId.keys()].map((id) => `v2.${id}.`);

/** The name of an app is its appid. The other names have a blank, which no appid has, so no two owners share a name. */
function nameOf(owner: SecretOwner): string {
  if ("webhookId" in owner) return `webhook ${owner.webhookId}`;
  return "purpose" in owner ? `purpose ${owner.purpose}` : owner.appid;
}

const associatedData = (owner: SecretOwner, slot: Slot): string =>
  `v2|${owner.siteId}|${nameOf(owner)}|${owner.version}|${slot}`;

function aesGcm(iv: Uint8Array<ArrayBuffer>, associated: string) {
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(associated) };
}

async function importMasterKey(bytes: Uint8Array<ArrayBuffer>): Promise<MasterKey> {
  const [digest, key] = await Promise.all([
    crypto.subtle.digest("SHA-256", bytes),
    crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]),
  ]);
  return { id: new Uint8Array(digest, 0, 4).toHex(), key };
}
