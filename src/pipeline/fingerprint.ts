/**
 * The fingerprint of a request, SHA-256 in hex: what an Idempotency-Key is compared by. It is of what the request asks for, after
 * defaults; timestamp, ranstr and unknown fields are no part of it, and lists are sorted. An optional field that is absent is no part
 * of it either, so a new one changes nothing for keys that were used before it.
 */
export async function fingerprintOf(input: unknown): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(input)));
  return new Uint8Array(digest).toHex();
}
