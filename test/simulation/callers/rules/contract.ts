import { createHmac } from "node:crypto";
import { modelAt } from "../../operations/index.ts";
import type { OperationModel } from "../../operations/shared/model.ts";
import type { WireRequest } from "../../world/call.ts";

/** The content of a signed call. All calls here have a valid form; tests of the fields check the other forms. */
export interface ContractReading {
  operation: OperationModel;
  appid: string;
  timestamp: number;
  ranstr: string;
  operationInput: object;
  /** Two requests with the same Idempotency-Key are the same request if their fingerprints are equal. */
  fingerprint: string;
  key: string | null;
  signature: string;
}

export function read({ path, headers, body }: WireRequest): ContractReading {
  const operation = modelAt(path);
  if (operation === undefined) throw new Error(`no operation has the path ${path}`);
  const fields = JSON.parse(body) as { appid: string; timestamp: number; ranstr: string };
  const { appid, timestamp, ranstr } = fields;
  const operationInput = operation.read(fields as never);
  // docs/retrying.md, "When two requests mean the same".
  const fingerprint = JSON.stringify(operationInput);
  const { "idempotency-key": key = null, "x-chat-signature": signature = "" } = headers;
  return { operation, appid, timestamp, ranstr, operationInput, fingerprint, key, signature };
}

/** Section 5: HMAC-SHA256 of the body as sent, in hex, upper or lower case. */
export const isSignedWith = (secret: string, body: string, signature: string): boolean =>
  createHmac("sha256", secret).update(body).digest("hex") === signature.toLowerCase();
