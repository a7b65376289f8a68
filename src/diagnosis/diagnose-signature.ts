import type { OpenSecret } from "../credentials/open-secrets.ts";
import type { Slot } from "../credentials/sealed-secret.ts";
import { type BodyVariant, bodyVariants, isTooMuchToRewrite } from "./body-variants.ts";
import { type ReadSignature, readSignature } from "./read-signature.ts";

/** How the caller made the key from the secret. `as_it_is` is the contract's way: the secret's UTF-8 bytes. */
type KeyForm = "as_it_is" | "hex_decoded" | "newline_added";

export interface SignatureMatch {
  body: BodyVariant;
  slot: Slot;
  /** When the secret stops verifying, in Unix seconds; may be in the past. Infinity for the current secret. */
  expiresAt: number;
  key: KeyForm;
}

export interface SignatureDiagnosis {
  signature: ReadSignature;
  /** The text and the key that give this signature, when they were found. */
  match: SignatureMatch | undefined;
  /** The value that the caller computed instead of the HMAC, when it was found. */
  instead?: "plain_hash" | "swapped";
  /** The body is too long or too deep for a call, so only its line ends were varied. */
  notRewritten?: true;
  /** The signature is right for the pasted text. The server accepts it as long as the secret is valid. */
  exact: boolean;
  /** Whether the server accepts the signature now. */
  valid: boolean;
}

/**
 * Finds out why a signature is refused: tries the usual mistakes of callers until one gives this signature. Changes nothing.
 *
 * @param secrets    the app's secrets, the current one first
 * @param documented the names of the fields, in the order of the documentation
 * @param now        Unix seconds
 */
export async function diagnoseSignature(
  pasted: { body: string; signature: string },
  secrets: readonly OpenSecret[],
  documented: readonly string[],
  now: number,
): Promise<SignatureDiagnosis> {
  const signature = readSignature(pasted.signature);
  const match = signature.bytes && (await findMatch(pasted.body, signature.bytes, secrets, documented));
  const asSent = match !== undefined && match.body.end === undefined && match.body.rewritten === undefined;
  const exact = signature.faults.length === 0 && asSent && match.key === "as_it_is";
  const valid = exact && match.expiresAt > now;
  if (match !== undefined || signature.bytes === undefined) return { signature, match, exact, valid };
  const instead = await findOther(pasted.body, signature.bytes, secrets);
  const notRewritten = isTooMuchToRewrite(pasted.body);
  return { signature, match, exact, valid, ...(instead && { instead }), ...(notRewritten && { notRewritten }) };
}

/** Tries SHA-256 without a key, over the body alone or joined with a secret. Then tries HMAC with key and message swapped. */
async function findOther(body: string, signature: Uint8Array, secrets: readonly OpenSecret[]) {
  const encode = (text: string) => Uint8Array.from(new TextEncoder().encode(text));
  const signed = signature.toHex();
  for (const text of [body, ...secrets.flatMap(({ secret }) => [secret + body, body + secret])]) {
    const hash = await crypto.subtle.digest("SHA-256", encode(text));
    if (new Uint8Array(hash).toHex() === signed) return "plain_hash";
  }
  if (body === "") return undefined;
  const key = await crypto.subtle.importKey("raw", encode(body), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  for (const { secret } of secrets) {
    const mac = await crypto.subtle.sign("HMAC", key, encode(secret));
    if (new Uint8Array(mac).toHex() === signed) return "swapped";
  }
  return undefined;
}

async function findMatch(
  pasted: string,
  signature: Uint8Array<ArrayBuffer>,
  secrets: readonly OpenSecret[],
  documented: readonly string[],
): Promise<SignatureMatch | undefined> {
  const keys: (Omit<SignatureMatch, "body"> & { hmac: CryptoKey })[] = [];
  for (const { slot, secret, expiresAt } of secrets) {
    for (const [key, bytes] of keyForms(secret)) {
      const hmac = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
      keys.push({ slot, expiresAt, key, hmac });
    }
  }
  for (const body of bodyVariants(pasted, documented)) {
    const bytes = new TextEncoder().encode(body.text);
    for (const { hmac, ...how } of keys) {
      if (how.key !== "as_it_is" && body.rewritten !== undefined) continue;
      if (await crypto.subtle.verify("HMAC", hmac, signature, bytes)) return { body, ...how };
    }
  }
  return undefined;
}

function keyForms(secret: string): [KeyForm, Uint8Array<ArrayBuffer>][] {
  const encode = (text: string) => Uint8Array.from(new TextEncoder().encode(text));
  const forms: [KeyForm, Uint8Array<ArrayBuffer>][] = [
    ["as_it_is", encode(secret)],
    ["newline_added", encode(`${secret}\n`)],
  ];
  if (/^([0-9a-f]{2})+$/i.test(secret)) forms.push(["hex_decoded", Uint8Array.fromHex(secret)]);
  return forms;
}
