/**
 * The fingerprint of a request: SHA-256 in hex. Two requests with one Idempotency-Key must have the same fingerprint. It covers
 * what the request asks for, with defaults filled in and lists sorted. It does not cover timestamp, ranstr and unknown fields. Absent
 * optional fields are left out, so a new optional field does not change the fingerprints of older requests.
 */
export async function fingerprintOf(input: unknown): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(input)));
  return new Uint8Array(digest).toHex();
}
