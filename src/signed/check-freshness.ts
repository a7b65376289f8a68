import * as z from "zod/mini";
import { rule, text } from "../fields.ts";
import { describeFields } from "../operations/describe-fields.ts";
import { ok, type Result, refused } from "../result.ts";

/** The fields by which a request is fresh and can be used once. Contract section 4; the length of ranstr: docs/decisions.md, "Signing and freshness". */
export const freshnessSchema = z.object({
  timestamp: z.int(rule("must be an integer, Unix seconds")),
  ranstr: text(1, 128),
});

export type Freshness = z.infer<typeof freshnessSchema>;

/**
 * Contract section 5, rule 5: an expired timestamp is rejected. A timestamp at either edge of the tolerance is accepted. One too
 * far in the future is rejected too: it could be sent again after its nonce was forgotten.
 *
 * @param now Unix seconds
 */
export function checkFreshness(
  fields: Record<string, unknown>,
  now: number,
  toleranceSeconds: number,
): Result<Freshness> {
  const read = freshnessSchema.safeParse(fields);
  if (!read.success) {
    return refused("invalid_parameters", "fields_invalid", {
      detail: describeFields(freshnessSchema, read.error, fields),
    });
  }
  const { timestamp } = read.data;
  const detail = `timestamp: must be within ${toleranceSeconds} s of ${now}, Unix seconds`;
  if (timestamp < now - toleranceSeconds) return refused("token_invalid", "timestamp_stale", { detail });
  if (timestamp > now + toleranceSeconds) return refused("token_invalid", "timestamp_ahead", { detail });
  return ok(read.data);
}
