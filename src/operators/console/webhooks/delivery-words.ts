import { type Delivery, MOST_IN_FLIGHT_FAILING, PING } from "../../services/deliveries.ts";
import type { Webhook } from "../../services/webhooks.ts";
import type { View } from "../view.ts";
import { spanText } from "./webhook-state.tsx";

/** The next step of a delivery in words, empty when there is none. It never names a time in the past. */
export function nextText(view: View, delivery: Delivery, webhook: Pick<Webhook, "status" | "failingSince">): string {
  const { t, now } = view;
  const { status, nextAttemptAt, isLeased, type } = delivery;
  if (status !== "pending" || nextAttemptAt === null) return "";
  if (webhook.status === "disabled") return t("being ended");
  const isDue = nextAttemptAt <= now;
  if (isLeased && !isDue) return t("being sent now");
  if (!isDue) return t("next attempt in {0}", spanText(view, nextAttemptAt - now));
  // A ping is sent before all other deliveries.
  return webhook.failingSince === null || type === PING
    ? t("next in turn")
    : t("next in turn, {0} at a time while failing", MOST_IN_FLIGHT_FAILING);
}

export function durationText({ t, language }: View, milliseconds: number): string {
  const seconds = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  return milliseconds < 1_000 ? t("{0} ms", milliseconds) : t("{0} s", seconds.format(milliseconds / 1_000));
}
