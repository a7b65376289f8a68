import type { Runtime } from "../runtime.ts";

const PREFIX = "whsec_";

/** A new signing secret as Standard Webhooks writes it: `whsec_` and 32 random bytes in base64. */
export const newWebhookSecret = (runtime: Pick<Runtime, "bytes">): string => PREFIX + runtime.bytes(32).toBase64();

/** The bytes that sign: what stands after the prefix, decoded. */
export const signingBytes = (secret: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.fromBase64(secret.slice(PREFIX.length));
