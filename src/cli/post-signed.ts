export interface SignedAnswer {
  status: number;
  headers: Headers;
  /** As it came. */
  text: string;
  /** Undefined when what came is not this service's answer. */
  envelope: { code: number; msg: string; data: unknown } | undefined;
}

/** Milliseconds until a call is given up. */
const PATIENCE_MS = 30_000;

export function signedHeaders(signature: string, idempotencyKey?: string): Record<string, string> {
  return {
    "content-type": "application/json",
    "x-chat-signature": signature,
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
  };
}

/**
 * Sends these bytes once.
 *
 * @throws Error naming the server when there is no answer
 */
export async function postSigned(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array<ArrayBuffer>,
): Promise<SignedAnswer> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, envelope: parseEnvelope(text) };
  } catch (error) {
    throw new Error(`No answer from ${new URL(url).origin}: ${reason(error)}. Is the server running there?`, {
      cause: error,
    });
  }
}

function parseEnvelope(text: string): SignedAnswer["envelope"] {
  try {
    const value = JSON.parse(text);
    return typeof value?.code === "number" && typeof value.msg === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** fetch says "fetch failed" and keeps what happened in its cause; for a host with two addresses, in the cause's `code` only. */
function reason(error: unknown): string {
  const { message, cause } = error as { message: string; cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message;
}
