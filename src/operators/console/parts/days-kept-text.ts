import type { View } from "../view.ts";

/** How long a site keeps its sessions, in words. */
export function daysKeptText({ t }: View, days: number | null): string {
  if (days === null) return t("For ever");
  return days === 1 ? t("1 day") : t("{0} days", days);
}
