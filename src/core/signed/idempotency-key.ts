import { ok, type Result, refused } from "../result.ts";
import { sentAs } from "../sent-as.ts";

/** How long the answer to an Idempotency-Key is kept. */
export const IDEMPOTENCY_SECONDS = 86_400;

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** Reads the Idempotency-Key header: 1 to 255 visible ASCII characters, unchanged. Null when the header is absent. */
export function readIdempotencyKey(header: string | undefined): Result<string | null> {
  if (header === undefined) return ok(null);
  if (VISIBLE_ASCII.test(header)) return ok(header);
  return refused("invalid_parameters", "idempotency_key_malformed", {
    violations: [
      { field: "Idempotency-Key", rule: "visible_ascii", values: [1, 255], ...sentAs("visible_ascii", header) },
    ],
  });
}
