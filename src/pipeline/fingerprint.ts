/**
 * What a request means, as SHA-256 in hex: its validated input after defaults. Timestamp, ranstr and unknown fields are no longer
 * part of it, agent lists are sorted and without duplicates, and the fields stand in the order in which the schema writes them.
 * An optional field that is absent is no part of it either: so a new one changes nothing for keys that were used before it.
 */
export async function meaningOf(input: unknown): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(input)));
  return new Uint8Array(digest).toHex();
}
