import { type BodyVariant, bodyVariants } from "./body-variants.ts";
import type { OpenSecret } from "./open-secrets.ts";
import { type ReadSignature, readSignature } from "./read-signature.ts";
import type { Slot } from "./sealed-secret.ts";

/** How a secret was turned into the key. The contract's way is its UTF-8 bytes. */
export type KeyForm = "as_it_is" | "hex_decoded" | "newline_added";

export interface SignatureMatch {
  body: BodyVariant;
  slot: Slot;
  /** When the secret stops, or stopped, to verify; Unix seconds. */
  expiresAt: number;
  key: KeyForm;
}

export interface SignatureDiagnosis {
  signature: ReadSignature;
  /** What the signature was made of, when that could be found out. */
  match: SignatureMatch | undefined;
  /** What was made of the app's secret and the body in place of an HMAC. */
  instead?: "plain_hash" | "swapped";
  /** Whether the server takes it. */
  valid: boolean;
}

/**
 * Why a signature is refused: tries what callers are known to get wrong, until something fits. Pure; nothing is kept.
 *
 * @param secrets the app's, the current one first
 * @param now     Unix seconds
 */
export async function diagnoseSignature(
  pasted: { body: string; signature: string },
  secrets: readonly OpenSecret[],
  now: number,
): Promise<SignatureDiagnosis> {
  const signature = readSignature(pasted.signature);
  const match = signature.bytes && (await findMatch(bodyVariants(pasted.body), signature.bytes, secrets));
  const asSent = match !== undefined && match.body.end === undefined && match.body.rewritten === undefined;
  const valid = signature.faults.length === 0 && asSent && match.key === "as_it_is" && match.expiresAt > now;
  const instead = match === undefined && signature.bytes && (await findOther(pasted.body, signature.bytes, secrets));
  return { signature, match, valid, ...(instead && { instead }) };
}

/** SHA-256 without a key, over the body alone or joined with a secret; HMAC with key and message the wrong way round. */
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
  variants: BodyVariant[],
  signature: Uint8Array<ArrayBuffer>,
  secrets: readonly OpenSecret[],
): Promise<SignatureMatch | undefined> {
  const encoder = new TextEncoder();
  const bodies = variants.map((body) => ({ body, bytes: encoder.encode(body.text) }));
  for (const { slot, secret, expiresAt } of secrets) {
    for (const [form, bytes] of keyForms(secret)) {
      const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
      for (const { body, bytes } of bodies) {
        if (form !== "as_it_is" && body.rewritten !== undefined) break;
        if (await crypto.subtle.verify("HMAC", key, signature, bytes)) return { body, slot, expiresAt, key: form };
      }
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
