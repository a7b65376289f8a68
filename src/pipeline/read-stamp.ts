import * as z from "zod/mini";
import { rule, text } from "../fields.ts";
import { describeFields } from "../operations/describe-fields.ts";
import { ok, type Result, refused } from "../result.ts";
import { checkFreshness } from "../signing/check-freshness.ts";

/** The fields by which a request is fresh and can be used once. Contract section 4; the length of ranstr: docs/decisions.md, "Signing and freshness". */
export const stampSchema = z.object({
  timestamp: z.int(rule("must be an integer, Unix seconds")),
  ranstr: text(1, 128),
});

export type Stamp = z.infer<typeof stampSchema>;

/**
 * Reads the stamp and checks that it is fresh. Contract section 5, rule 5.
 *
 * @param now Unix seconds
 */
export function readStamp(fields: Record<string, unknown>, now: number, toleranceSeconds: number): Result<Stamp> {
  const stamp = stampSchema.safeParse(fields);
  if (!stamp.success) {
    return refused("invalid_parameters", "fields_invalid", {
      detail: describeFields(stampSchema, stamp.error, fields),
    });
  }
  const fresh = checkFreshness(stamp.data.timestamp, now, toleranceSeconds);
  if (fresh.ok) return ok(stamp.data);
  const detail = `timestamp: must be within ${toleranceSeconds} s of ${now}, Unix seconds`;
  return refused("token_invalid", fresh.reason, { detail });
}
readStamp.kind = "pure" as const;
