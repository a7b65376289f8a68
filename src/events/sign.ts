import { signingBytes } from "./secret.ts";

const HMAC = { name: "HMAC", hash: "SHA-256" };

interface SignedParts {
  id: string;
  /** Unix seconds. */
  timestamp: number;
  body: string;
}

/** @param secret `whsec_…` */
export const importSigningKey = (secret: string): Promise<CryptoKey> =>
  crypto.subtle.importKey("raw", signingBytes(secret), HMAC, false, ["sign"]);

/** The headers of Standard Webhooks, with one signature for each key. */
export async function signatureHeaders(keys: CryptoKey[], { id, timestamp, body }: SignedParts) {
  const bytes = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signatures = keys.map(async (key) => {
    return `v1,${new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes)).toBase64()}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": (await Promise.all(signatures)).join(" "),
  };
}
