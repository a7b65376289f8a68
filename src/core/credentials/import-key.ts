const HMAC_SHA256 = { name: "HMAC", hash: "SHA-256" };

/**
 * Imports an app's secret as the HMAC key of contract section 5. The key is the secret's UTF-8 bytes, unchanged. It can only verify
 * and cannot be exported.
 *
 * @throws the error of WebCrypto for an empty secret
 */
export function importKey(secret: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", new TextEncoder().encode(secret), HMAC_SHA256, false, ["verify"]);
}
