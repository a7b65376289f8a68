import { MOST_RECENT, type RecentDeliveries } from "../../services/deliveries.ts";
import { MOST_COUNTED } from "../../services/webhooks.ts";
import type { View } from "../view.ts";

/** Numbers of a webhook's deliveries. */

/** Counting stops at MOST_COUNTED, so the real number may be larger. */
export function countText({ t, language }: View, count: number): string {
  const number = new Intl.NumberFormat(language).format(count);
  return count < MOST_COUNTED ? number : t("{0} or more", number);
}

/** The share of delivered deliveries, such as `68%`. It is rounded down, so that 100% means all. */
export function shareText({ language }: View, { delivered, tried }: RecentDeliveries): string {
  if (tried === 0) return "–";
  const share = Math.floor((delivered / tried) * 100) / 100;
  return new Intl.NumberFormat(language, { style: "percent" }).format(share);
}

/** How many deliveries were tried: {@link shareText} is a share of them. */
export function triedText({ t, language }: View, { delivered, tried, isCut }: RecentDeliveries): string {
  const number = new Intl.NumberFormat(language);
  if (tried === 0) return t("none tried");
  const text = t("{0} of {1} tried", number.format(delivered), number.format(tried));
  return isCut ? `${text}, ${t("of the last {0}", number.format(MOST_RECENT))}` : text;
}
