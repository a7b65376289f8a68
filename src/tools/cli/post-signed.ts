export interface SignedAnswer {
  status: number;
  headers: Headers;
  /** The body as it was received. */
  text: string;
  /** Undefined when the body is not an envelope of this service. */
  envelope: { code: number; msg: string; data: unknown } | undefined;
}

const TIMEOUT_MS = 30_000;

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
 * @throws Error with the server's name when no answer comes
 */
export async function postSigned(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array<ArrayBuffer>,
): Promise<SignedAnswer> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
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

/** The cause of a failed fetch, whose own message is only "fetch failed". For a host with two addresses, the cause has only a `code`. */
function reason(error: unknown): string {
  const { message, cause } = error as { message: string; cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message;
}
