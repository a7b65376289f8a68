import type { Runtime } from "../../../core/runtime.ts";
import type { ConsoleSession } from "../../services/console-sessions.ts";
import { macOf } from "../../services/digests.ts";

/**
 * The searched text as an address may hold it: sealed with a key of the console session. The text may be a customer's id, and
 * addresses reach logs and the browser's history. Back, a reload and a change of language still work, for this session only.
 */

type Sealer = Pick<ConsoleSession, "id" | "key">;

const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const IV_BYTES = 12;

async function keyOf({ id, key }: Sealer): Promise<CryptoKey> {
  const bytes = Uint8Array.fromBase64(await macOf(key, ["search", id]), BASE64URL);
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

export async function sealText({ bytes }: Pick<Runtime, "bytes">, session: Sealer, text: string): Promise<string> {
  const iv = bytes(IV_BYTES);
  const plain = new TextEncoder().encode(text);
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await keyOf(session), plain);
  return new Uint8Array([...iv, ...new Uint8Array(sealed)]).toBase64(BASE64URL);
}

/** @returns undefined for a text that this session has not sealed */
export async function openText(session: Sealer, sealed: string): Promise<string | undefined> {
  try {
    const bytes = Uint8Array.fromBase64(sealed, BASE64URL);
    const algorithm = { name: "AES-GCM", iv: bytes.slice(0, IV_BYTES) };
    const plain = await crypto.subtle.decrypt(algorithm, await keyOf(session), bytes.slice(IV_BYTES));
    return new TextDecoder().decode(plain);
  } catch {
    return undefined;
  }
}
