import { createHmac } from "node:crypto";
import type { Wire } from "./call.ts";

/** A signed request with these fields, for the path of an operation. */
export function signed(operation: string, fields: object, secret: string, headers: Record<string, string> = {}): Wire {
  const body = JSON.stringify(fields);
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return {
    method: "POST",
    path: `/openapi/chat/${operation}`,
    headers: { "content-type": "application/json", "x-chat-signature": signature, ...headers },
    body,
  };
}
