import { rotateSecretSchema } from "../../../services/app-secrets.ts";
import type { View } from "../view.ts";

/** The seconds in a field; undefined when it holds no overlap. An empty field is none, although Number() makes 0 of it. */
export function overlapOf(text: string): number | undefined {
  const overlap_seconds = /^\d+$/.test(text) ? Number(text) : text;
  return rotateSecretSchema.safeParse({ overlap_seconds }).data?.overlap_seconds;
}

/** The overlaps that an operator may choose. */
export const overlapsOf = ({ t }: View): [string, string][] => [
  ["0", t("None: the old one stops now")],
  ["3600", t("1 hour")],
  ["86400", t("24 hours")],
  ["604800", t("7 days")],
];

/** Whether the previous secret is still valid. */
export const hasOverlap = ({ previousExpiresAt }: { previousExpiresAt: number | null }, now: number): boolean =>
  (previousExpiresAt ?? 0) > now;
