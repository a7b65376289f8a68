/**
 * The fingerprint of a request, SHA-256 in hex: two requests with one Idempotency-Key are compared by it. It covers what the request
 * asks for: defaults filled in, lists sorted, without timestamp, ranstr and unknown fields. An absent optional field is left out, so
 * that a field that is added later does not change the fingerprints of keys used before.
 */
export async function fingerprintOf(input: unknown): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(input)));
  return new Uint8Array(digest).toHex();
}
