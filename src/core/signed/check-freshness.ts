import * as z from "zod/mini";
import { rule, text } from "../fields.ts";
import { violationsOfFields } from "../operations/violations-of-fields.ts";
import { ok, type Result, refused } from "../result.ts";
import type { Violation } from "../rules.ts";
import { sentAs } from "../sent-as.ts";

/**
 * The fields that show that a request is new and was not used before. Contract section 4; for the length of ranstr see
 * docs/decisions.md, "Signing and freshness".
 */
export const freshnessSchema = z.object({
  timestamp: z.int(rule("unix_seconds")),
  ranstr: text(1, 128),
});

export type Freshness = z.infer<typeof freshnessSchema>;

/**
 * Checks the timestamp. Contract section 5, rule 5. Both edges of the tolerance are accepted. A timestamp too far in the future is
 * rejected: otherwise the request could be sent again after its nonce has expired.
 *
 * @param now Unix seconds
 */
export function checkFreshness(
  fields: Record<string, unknown>,
  now: number,
  toleranceSeconds: number,
): Result<Freshness> {
  const parsedFields = freshnessSchema.safeParse(fields);
  if (!parsedFields.success) {
    return refused("invalid_parameters", "fields_invalid", {
      violations: violationsOfFields(freshnessSchema, parsedFields.error, fields),
    });
  }
  const { timestamp } = parsedFields.data;
  const violations: Violation[] = [
    { field: "timestamp", rule: "near_now", values: [toleranceSeconds, now], ...sentAs("near_now", timestamp) },
  ];
  if (timestamp < now - toleranceSeconds) return refused("token_invalid", "timestamp_stale", { violations });
  if (timestamp > now + toleranceSeconds) return refused("token_invalid", "timestamp_ahead", { violations });
  return ok(parsedFields.data);
}
