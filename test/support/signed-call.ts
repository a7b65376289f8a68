import { createHmac, randomUUID } from "node:crypto";

/** Sends a call over HTTP, signed by another implementation than the client's. It gets appid, timestamp and ranstr. */
export function signedCall(
  url: string,
  { appid, secret }: { appid: string; secret: string },
  operation: string,
  fields: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = JSON.stringify({ appid, timestamp: Math.floor(Date.now() / 1000), ranstr: randomUUID(), ...fields });
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return fetch(`${url}/openapi/chat/${operation}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-chat-signature": signature, ...headers },
    body,
  });
}
