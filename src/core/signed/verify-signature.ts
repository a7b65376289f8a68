export type SignatureResult<Key> =
  | { ok: true; key: Key }
  | { ok: false; reason: "signature_missing" | "signature_malformed" | "signature_mismatch" };

/** HMAC-SHA256 is 32 bytes: 64 hex digits, in upper or lower case. */
const HEX_SHA256 = /^[0-9a-f]{64}$/i;

/**
 * Verifies `x-chat-signature` over the exact bytes received, with each key in turn. Contract section 5, rules 1 to 3.
 * `crypto.subtle.verify` compares in constant time: a forger cannot learn from timing which digits are right.
 */
export async function verifySignature<Key extends { key: CryptoKey }>(
  body: ArrayBuffer,
  signature: string | undefined,
  keys: readonly Key[],
): Promise<SignatureResult<Key>> {
  if (signature === undefined) return { ok: false, reason: "signature_missing" };
  if (!HEX_SHA256.test(signature)) return { ok: false, reason: "signature_malformed" };
  const expected = Uint8Array.fromHex(signature);
  for (const key of keys) {
    if (await crypto.subtle.verify("HMAC", key.key, expected, body)) return { ok: true, key };
  }
  return { ok: false, reason: "signature_mismatch" };
}
