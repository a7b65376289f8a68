import type { Runtime } from "../core/runtime.ts";

const PREFIX = "whsec_";

/** A new signing secret in the form of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export const newWebhookSecret = (runtime: Pick<Runtime, "bytes">): string => PREFIX + runtime.bytes(32).toBase64();

/** The key's bytes: the part after the prefix, decoded. */
export const signingBytes = (secret: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.fromBase64(secret.slice(PREFIX.length));
