import type { ConsoleSession } from "../../services/console-sessions.ts";
import { macOf } from "../../services/digests.ts";
import type { PageContext } from "../env.ts";

/**
 * The searched text as an address may hold it: sealed with a key of the console session. The text may be a customer's id, and
 * addresses reach logs and the browser's history. Back, a reload and a change of language still work, for this session only.
 */

const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const IV_BYTES = 12;

async function keyOf({ id, key }: ConsoleSession): Promise<CryptoKey> {
  const bytes = Uint8Array.fromBase64(await macOf(key, ["search", id]), BASE64URL);
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** A text as an address may hold it; empty when nobody is signed in. */
export async function sealText({ var: { ctx, view } }: PageContext, text: string): Promise<string> {
  if (view.session === undefined) return "";
  const iv = ctx.runtime.bytes(IV_BYTES);
  const plain = new TextEncoder().encode(text);
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await keyOf(view.session), plain);
  return new Uint8Array([...iv, ...new Uint8Array(sealed)]).toBase64(BASE64URL);
}

/** The text of a parameter of the address; undefined when it has none that this console session has sealed. */
export async function openText({ req, var: { view } }: PageContext, name: "text" | "cursor") {
  const sealed = req.query(name);
  if (!sealed || view.session === undefined) return undefined;
  try {
    const bytes = Uint8Array.fromBase64(sealed, BASE64URL);
    const algorithm = { name: "AES-GCM", iv: bytes.slice(0, IV_BYTES) };
    const plain = await crypto.subtle.decrypt(algorithm, await keyOf(view.session), bytes.slice(IV_BYTES));
    return new TextDecoder().decode(plain);
  } catch {
    return undefined;
  }
}
