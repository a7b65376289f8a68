import { rotateSecretSchema } from "../../../services/app-secrets.ts";
import type { View } from "../view.ts";

/** The overlap in a field, in seconds; undefined for any other text. An empty field is checked first, because Number("") is 0. */
export function overlapOf(text: string): number | undefined {
  const overlap_seconds = /^\d+$/.test(text) ? Number(text) : text;
  return rotateSecretSchema.safeParse({ overlap_seconds }).data?.overlap_seconds;
}

/** The overlaps to choose from: value and label. */
export const overlapsOf = ({ t }: View): [string, string][] => [
  ["0", t("None: the old one stops now")],
  ["3600", t("1 hour")],
  ["86400", t("24 hours")],
  ["604800", t("7 days")],
];

/** Whether the previous secret is still valid. */
export const hasOverlap = ({ previousExpiresAt }: { previousExpiresAt: number | null }, now: number): boolean =>
  (previousExpiresAt ?? 0) > now;
