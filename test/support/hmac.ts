/** The tests' own signature, independent of the code under test: hex HMAC-SHA256 of UTF-8 text or bytes. */
export async function hmac(secret: string, body: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, typeof body === "string" ? encoder.encode(body) : body);
  return [...new Uint8Array(signature)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
