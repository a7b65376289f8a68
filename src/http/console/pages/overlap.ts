import { rotateSecretSchema } from "../../../services/rotate-secret.ts";
import type { View } from "../view.ts";

/** The seconds that a field says; undefined for what is no overlap, as an empty field, of which Number() would make 0. */
export function overlapOf(text: string): number | undefined {
  const overlap_seconds = /^\d+$/.test(text) ? Number(text) : text;
  return rotateSecretSchema.safeParse({ overlap_seconds }).data?.overlap_seconds;
}

/** What an operator may choose from. */
export const overlapsOf = ({ t }: View): [string, string][] => [
  ["0", t("None: the old one stops now")],
  ["3600", t("1 hour")],
  ["86400", t("24 hours")],
  ["604800", t("7 days")],
];
