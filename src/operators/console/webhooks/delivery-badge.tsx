import type { DeliveryStatus } from "../../services/events.ts";
import { Badge, type BadgeKind } from "../parts/parts.tsx";
import { statusText } from "../sessions/session-table.tsx";
import type { View } from "../view.ts";

const KINDS: Record<DeliveryStatus, BadgeKind> = {
  pending: "wait",
  delivered: "good",
  failed: "bad",
  skipped: "off",
};

/** @param props `label` replaces the word of the status */
export function DeliveryBadge(props: { view: View; status: DeliveryStatus; label?: string | undefined }) {
  const { view, status, label = statusText(view, status) } = props;
  return <Badge kind={KINDS[status]} label={label} />;
}
