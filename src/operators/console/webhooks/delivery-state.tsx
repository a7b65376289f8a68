import { type Delivery, MOST_ATTEMPTS, MOST_IN_FLIGHT_FAILING, PING } from "../../services/deliveries.ts";
import type { DeliveryStatus } from "../../services/events.ts";
import type { Webhook } from "../../services/webhooks.ts";
import { Badge, type BadgeKind } from "../parts/parts.tsx";
import { statusText } from "../sessions/session-table.tsx";
import { useView, type View } from "../view.ts";
import { spanText } from "./webhook-health.tsx";

const KINDS: Record<DeliveryStatus, BadgeKind> = {
  pending: "wait",
  delivered: "good",
  failed: "bad",
  skipped: "off",
};

/** @param props `label` replaces the word of the status */
export const DeliveryBadge = ({ status, label }: { status: DeliveryStatus; label?: string | undefined }) => (
  <Badge kind={KINDS[status]} label={label ?? statusText(useView(), status)} />
);

/** @param props `isAgain`: whether this reader has just sent it again */
export function DeliveryState({ delivery, isAgain }: { delivery: Delivery; isAgain: boolean }) {
  const { status, lastStatus, lastError } = delivery;
  const isOnItsWay = isAgain && status === "pending" && lastStatus === null && lastError === null;
  return <DeliveryBadge status={status} label={isOnItsWay ? useView().t("On its way") : undefined} />;
}

/** How many attempts have begun, and how many there are at most. Nobody can say how many follow a ping, which is tried once. */
export function attemptsOf({ attempts, status, type }: Delivery): [begun: number, most: number | undefined] {
  const isFinal = status === "delivered" || status === "skipped" || type === PING || attempts > MOST_ATTEMPTS;
  return [attempts, isFinal ? undefined : MOST_ATTEMPTS];
}

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
