import type { WebhookEvent } from "./event.ts";
import { EventVerificationError } from "./event-verification-error.ts";

/** A `Headers`, node's `request.headers`, or an object. Names may have upper or lower case. */
export type EventHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyEventOptions {
  /** How many seconds `webhook-timestamp` may be before or after this machine's clock. Default 300. */
  toleranceSeconds?: number | undefined;
  /** The time in Unix seconds, for tests. Default: this machine's clock. */
  now?: number | undefined;
}

/** Decodes with atob, which every platform has. `Uint8Array.fromBase64` is newer than Node 20, and only Node has Buffer. */
const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/**
 * Verifies a request of a webhook by the rules of Standard Webhooks, and returns its event. The signature is over the bytes that arrived.
 * So give the raw body, not a body that was parsed and serialised again.
 *
 * @param secret `whsec_…`, or a list of secrets while the secret is being changed. A signature with any of them is right
 * @throws EventVerificationError
 */
export async function verifyEvent(
  headers: EventHeaders,
  body: string | ArrayBufferView | ArrayBuffer,
  secret: string | readonly string[],
  options: VerifyEventOptions = {},
): Promise<WebhookEvent> {
  const keys = keysOf(secret);
  const raw = rawOf(body);
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature").split(" ");
  checkTime(timestamp, options);

  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(start.length + raw.length);
  signed.set(start);
  signed.set(raw, start.length);
  let isRight = false;
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
    const expected = `v1,${btoa(String.fromCharCode(...mac))}`;
    for (const signature of signatures) isRight = isSame(signature, expected) || isRight;
  }
  if (!isRight)
    throw new EventVerificationError("signature_wrong", "no v1 signature is right for this body and secret");

  const { type, timestamp: at, data } = contentOf(signed.subarray(start.length));
  if (typeof type !== "string" || typeof at !== "string" || typeof data !== "object" || data === null) {
    throw new EventVerificationError("body_malformed", "the body has no type, timestamp and data");
  }
  return { id, type, timestamp: at, data } as WebhookEvent;
}

function keysOf(secret: string | readonly string[]): Uint8Array<ArrayBuffer>[] {
  const keys = [secret].flat().map((each) => {
    try {
      const key = /^whsec_\S+$/.test(each) ? bytesOf(each.slice(6)) : undefined;
      if (key?.length) return key;
    } catch {
      // atob's own error says nothing useful.
    }
    throw new EventVerificationError("secret_malformed", "a secret is whsec_ and base64");
  });
  if (keys.length === 0) throw new EventVerificationError("secret_malformed", "the list holds no secret");
  return keys;
}

/** Does not use instanceof, because bytes from another realm (an iframe or node:vm) have that realm's classes. */
function rawOf(body: string | ArrayBufferView | ArrayBuffer): Uint8Array {
  if (typeof body === "string" && body.isWellFormed()) return new TextEncoder().encode(body);
  try {
    if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
    if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(body as ArrayBuffer);
  } catch {
    // The bytes were transferred away. The body is refused below.
  }
  throw new EventVerificationError("body_malformed", "give the raw body, text or bytes, before anything parses it");
}

function headerOf(headers: EventHeaders, name: string): string {
  let value: unknown;
  if (typeof headers.get === "function") value = headers.get(name);
  else for (const key of Object.keys(headers)) if (key.toLowerCase() === name) value = (headers as never)[key];
  const text = Array.isArray(value) ? value.join(" ") : value;
  if (typeof text === "string" && text !== "") return text;
  throw new EventVerificationError("headers_missing", `there is no ${name}`);
}

function checkTime(timestamp: string, { toleranceSeconds = 300, now = Date.now() / 1000 }: VerifyEventOptions): void {
  const seconds = /^\d+$/.test(timestamp) ? Math.trunc(now) - Number(timestamp) : Number.NaN;
  // With NaN on either side this comparison is false, and the event is refused.
  if (Math.abs(seconds) <= toleranceSeconds) return;
  const away = `${Math.abs(seconds)} s ${seconds < 0 ? "ahead of" : "behind"} this machine's clock`;
  const timestampText = Number.isNaN(seconds) ? "no number of seconds" : `${away}, more than ${toleranceSeconds} s`;
  throw new EventVerificationError("timestamp_out_of_range", `webhook-timestamp is ${timestampText}`);
}

/** Compares in constant time. `crypto.subtle.verify` is not used, because it would hash the body once for each listed signature. */
function isSame(candidate: string, expected: string): boolean {
  let difference = candidate.length ^ expected.length;
  for (let at = 0; at < expected.length; at++) difference |= candidate.charCodeAt(at) ^ expected.charCodeAt(at);
  return difference === 0;
}

function contentOf(raw: Uint8Array): Record<string, unknown> {
  try {
    return Object(JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw)));
  } catch {
    throw new EventVerificationError("body_malformed", "the body is not JSON");
  }
}
