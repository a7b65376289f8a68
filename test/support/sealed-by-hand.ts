/**
 * A sealed secret made without the code under test, in whichever form: what an older version of the service may have stored.
 *
 * @param associated what the seal vouches for, as the form spells it
 */
export async function sealedByHand(
  masterKey: Uint8Array<ArrayBuffer>,
  form: "v1" | "v2",
  associated: string,
  secret: string,
): Promise<string> {
  const encoder = new TextEncoder();
  const base64url = (bytes: Uint8Array) => bytes.toBase64({ alphabet: "base64url", omitPadding: true });
  const id = new Uint8Array(await crypto.subtle.digest("SHA-256", masterKey)).slice(0, 4).toHex();
  const key = await crypto.subtle.importKey("raw", masterKey, "AES-GCM", false, ["encrypt"]);
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const algorithm = { name: "AES-GCM", iv, additionalData: encoder.encode(associated) };
  const ciphertext = await crypto.subtle.encrypt(algorithm, key, encoder.encode(secret));
  return [form, id, base64url(iv), base64url(new Uint8Array(ciphertext))].join(".");
}
