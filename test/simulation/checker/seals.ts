import { createDecipheriv, createHash } from "node:crypto";
import type { Settings } from "../world/cloud/settings.ts";

/**
 * Sealed secrets, implemented a second time from their description: `v2.<key id>.<iv>.<ciphertext>`, AES-256-GCM, with
 * site, appid, version and slot as associated data.
 */

type MasterKeys = Pick<Settings, "masterKey" | "masterKeyPrevious">;

const TAG_BYTES = 16;

const keyIds = new Map<string, string>();

/** The id of a master key in a seal: the first bytes of its hash. */
export function keyId(masterKey: string): string {
  let id = keyIds.get(masterKey);
  if (id === undefined) {
    id = createHash("sha256").update(Buffer.from(masterKey, "base64")).digest("hex").slice(0, 8);
    keyIds.set(masterKey, id);
  }
  return id;
}

/** The id of the master key that made a seal. */
export const sealedWith = (seal: unknown): string => String(seal).split(".")[1] ?? "";

/** Whether a deployment has the master key that made a seal. */
export const hasKeyOf = ({ masterKey, masterKeyPrevious }: MasterKeys, seal: unknown): boolean =>
  [masterKey, masterKeyPrevious].some((key) => key !== undefined && keyId(key) === sealedWith(seal));

interface Owner {
  siteId: number;
  appid: string;
  version: string;
  slot: "current" | "previous";
}

/** The secret in a seal; undefined when the deployment's keys do not open it for this owner. */
export function openSeal(
  { masterKey, masterKeyPrevious }: MasterKeys,
  { siteId, appid, version, slot }: Owner,
  seal: string,
): string | undefined {
  const [form, id, iv = "", ciphertext = ""] = seal.split(".");
  const key = [masterKey, masterKeyPrevious].find((each) => each !== undefined && keyId(each) === id);
  if (form !== "v2" || key === undefined) return undefined;
  const bytes = Buffer.from(ciphertext, "base64url");
  try {
    const decipher = createDecipheriv("aes-256-gcm", Buffer.from(key, "base64"), Buffer.from(iv, "base64url"));
    decipher.setAAD(Buffer.from(`v2|${siteId}|${appid}|${version}|${slot}`));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString();
  } catch {
    return undefined;
  }
}
