import { TROUBLE_SECONDS, type Webhook } from "../../services/webhooks.ts";
import { Badge } from "../parts/parts.tsx";
import type { View } from "../view.ts";

/** The state of a webhook, in a word or two. */

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** A length of time in its largest unit, such as `2 hours`. */
export function spanText({ language }: View, seconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => seconds >= each) ?? ["second", 1];
  const number = Math.max(1, Math.floor(seconds / length));
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(number);
}

export function WebhookState({ view, webhook }: { view: View; webhook: Webhook }) {
  const { t } = view;
  const { status, disabledReason, failingSince } = webhook;
  if (status === "disabled") {
    return disabledReason === null ? (
      <Badge kind="off" label={t("Disabled")} />
    ) : (
      <Badge kind="bad" label={t("Disabled by the Worker")} />
    );
  }
  if (failingSince === null) return <Badge kind="good" label={t("Enabled")} />;
  const past = view.now - failingSince;
  return (
    <span title={view.exactTime(failingSince)}>
      <Badge kind={past >= TROUBLE_SECONDS ? "bad" : "wait"} label={t("Failing for {0}", spanText(view, past))} />
    </span>
  );
}

/** Whether a delivery has waited for so long that the receiver does not keep up. */
export const isBehind = ({ now }: View, { oldestPendingAt }: Webhook): boolean =>
  oldestPendingAt !== null && now - oldestPendingAt >= TROUBLE_SECONDS;

/** Sorts webhooks: those that need an operator come first, and among them those with the oldest trouble. */
export function worstFirst(view: View, webhooks: Webhook[]): Webhook[] {
  const rankOfState = (webhook: Webhook) => {
    const { status, disabledReason, failingSince } = webhook;
    if (status === "disabled") return disabledReason === null ? 3 : 0;
    if (failingSince !== null) return view.now - failingSince >= TROUBLE_SECONDS ? 0 : 1;
    return isBehind(view, webhook) ? 2 : 4;
  };
  const troubledSince = ({ disabledAt, failingSince }: Webhook) => failingSince ?? disabledAt ?? view.now;
  return webhooks.toSorted((a, b) => rankOfState(a) - rankOfState(b) || troubledSince(a) - troubledSince(b));
}
