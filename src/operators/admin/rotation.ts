import * as z from "zod/mini";
import type { RotationInput, rotationSchema } from "../services/rotation.ts";
import { type DescribedSchema, type JsonSchema, type NamedSchema, type SchemaWords, time } from "./words.ts";

/** The parts that the calls about secrets of apps and of webhooks share. */

export const rotationOf = (body: z.infer<typeof rotationSchema>): RotationInput => ({
  overlapSeconds: body.overlap_seconds,
  expectedVersion: body.expected_version,
  ends: body.ends,
});

export const rotatedSchema = z.object({
  secret: z.string(),
  version: z.string(),
  previous_expires_at: z.nullable(z.int()),
});

export const endedOverlapSchema = z.object({ version: z.string(), previous_expires_at: z.null() });

const VERSION = "9f2c4e6a8b0d1f3e5a7c9b1d3f5e7a90";

export const version = (): JsonSchema => ({
  description: "An id of the secret in place, for `expected_version`. Each rotation makes another.",
  examples: [VERSION],
});

/** The fields of a rotation's body. @param overlapText the words for what the previous secret does during the overlap */
export const rotation = (overlapText: string): SchemaWords => ({
  overlap_seconds: {
    description: `How long the previous secret ${overlapText}. With 0, every old secret ends at once, also one of a running overlap.`,
    examples: [3600],
  },
  expected_version: {
    examples: [VERSION],
    description: "The `version` as you know it: 409, and no rotation, when it has another by now.",
  },
  ends: {
    description:
      "Which secret ends while an overlap runs. `previous`: the old one; the one in use takes its place, for `overlap_seconds`. `current`: the new one, which nobody received; the old one keeps its time. `current` is 409 while no overlap runs.",
    examples: ["current"],
  },
});

export const overlapEnd = (): DescribedSchema => ({
  name: "OverlapEnd",
  fields: {
    expected_version: {
      examples: [VERSION],
      description: "The `version` as you know it: 409, and nothing ends, when it has another by now.",
    },
  },
});

/** The fields of the answer to a rotation. @param does the words for what the previous secret does during the overlap */
export const rotatedFields = (secret: JsonSchema, does: string): SchemaWords => ({
  secret,
  version: version(),
  previous_expires_at: time(`Until when the previous secret ${does} too; null when none does.`),
});

export const endedOverlap = (): NamedSchema => ({
  name: "EndedOverlap",
  schema: endedOverlapSchema,
  fields: { version: version(), previous_expires_at: { description: "There is no previous secret." } },
});
