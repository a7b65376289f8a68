import type * as z from "zod/mini";
import type { Rotated, RotationInput, rotationSchema } from "../services/rotation.ts";

/** What the calls about the secrets of apps and of webhooks have in common. */

export const rotationOf = (body: z.infer<typeof rotationSchema>): RotationInput => ({
  overlapSeconds: body.overlap_seconds,
  expectedVersion: body.expected_version,
  ends: body.ends,
});

export const shownEndedOverlap = ({ version }: { version: string }) => ({ version, previous_expires_at: null });

export const shownRotated = ({ secret, version, previousExpiresAt }: Rotated) => ({
  secret,
  version,
  previous_expires_at: previousExpiresAt,
});
