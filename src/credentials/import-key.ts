const HMAC_SHA256 = { name: "HMAC", hash: "SHA-256" };

/**
 * Imports an application secret as the key of contract section 5: its UTF-8 bytes, as they are. Verify-only and not extractable.
 *
 * @throws what WebCrypto throws for an empty secret
 */
export function importKey(secret: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", new TextEncoder().encode(secret), HMAC_SHA256, false, ["verify"]);
}
