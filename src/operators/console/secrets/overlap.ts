import { ENDED_SECRETS, type EndedSecret, rotationSchema } from "../../services/rotation.ts";
import type { View } from "../view.ts";

/** The overlap in a field, in seconds; undefined for any other text. An empty field is checked first, because Number("") is 0. */
export function overlapOf(text: string): number | undefined {
  const overlap_seconds = /^\d+$/.test(text) ? Number(text) : text;
  return rotationSchema.safeParse({ overlap_seconds }).data?.overlap_seconds;
}

/** The overlaps to choose from: value and label. */
export const overlapsOf = ({ t }: View): [string, string][] => [
  ["0", t("None: the secret in use stops now")],
  ["3600", t("1 hour")],
  ["86400", t("24 hours")],
  ["604800", t("7 days")],
];

/** The choice in a field; undefined for any other text. */
export const endsOf = (text: string): EndedSecret | undefined => ENDED_SECRETS.find((each) => each === text);

/** The secrets to choose from while an overlap runs: value and label. There is no default, because each choice ends a secret. */
export const choicesOf = ({ t }: View): [string, string][] => [
  ["", t("Please choose")],
  ["previous", t("The old one: the secret in use goes on working for the overlap")],
  ["current", t("The one made last, because nobody received it: the old one keeps its time")],
];

/** Whether the previous secret is still valid. */
export const hasOverlap = ({ previousExpiresAt }: { previousExpiresAt: number | null }, now: number): boolean =>
  (previousExpiresAt ?? 0) > now;
