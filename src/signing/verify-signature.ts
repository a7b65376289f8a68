/** Pure: bytes, header and keys come in, a tagged result goes out. Contract section 5, rules 1 to 3. */

export type SignatureResult<Slot extends string> =
  | { ok: true; slot: Slot }
  | { ok: false; reason: "signature_missing" | "signature_malformed" | "signature_mismatch" };

/** HMAC-SHA256 is 32 bytes: 64 hex digits, in either case. */
const HEX_SHA256 = /^[0-9a-f]{64}$/i;

/**
 * Checks `x-chat-signature` over the exact bytes received, against each key in turn.
 * `crypto.subtle.verify` compares in constant time, so a forger learns nothing digit by digit.
 */
export async function verifySignature<Slot extends string>(
  body: ArrayBuffer,
  signature: string | undefined,
  keys: readonly { slot: Slot; key: CryptoKey }[],
): Promise<SignatureResult<Slot>> {
  if (signature === undefined) return { ok: false, reason: "signature_missing" };
  if (!HEX_SHA256.test(signature)) return { ok: false, reason: "signature_malformed" };
  const expected = Uint8Array.fromHex(signature);
  for (const { slot, key } of keys) {
    if (await crypto.subtle.verify("HMAC", key, expected, body)) return { ok: true, slot };
  }
  return { ok: false, reason: "signature_mismatch" };
}
