import type { Delivery, DeliveryStatus } from "../../../services/events.ts";
import { withParameter } from "../console-path.ts";
import { ruleText } from "../forms/messages.ts";
import { Action } from "../parts/form.tsx";
import { Badge, type BadgeKind, Time } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { statusText } from "../sessions/session-table.tsx";
import type { View } from "../view.ts";

const KINDS: Record<DeliveryStatus, BadgeKind> = { pending: "wait", delivered: "good", failed: "bad", skipped: "off" };

/** The id of the button that redelivers an event. After the change the page scrolls to this button. */
export const redeliverId = (seq: number) => `event-${seq}`;

/**
 * The deliveries to a webhook.
 *
 * @param path of the form that redelivers an event; undefined when the webhook is disabled
 */
export function DeliveryTable(props: { view: View; siteId: number; deliveries: Delivery[]; path: string | undefined }) {
  const { view, path } = props;
  const { t } = view;
  return (
    <Table
      label={t("Deliveries")}
      head={[t("Event"), t("Status"), t("Attempts"), t("Last answer"), t("Next attempt"), t("Change")]}
      rows={props.deliveries.map((delivery) => [
        <span class="pair">
          {`${delivery.seq} ${delivery.type}`}
          {delivery.chatId !== null && (
            <a href={`/console/sites/${props.siteId}/sessions/${delivery.chatId}`}>
              {t("Session {0}", delivery.chatId)}
            </a>
          )}
        </span>,
        <Badge kind={KINDS[delivery.status]} label={statusText(view, delivery.status)} />,
        delivery.attempts,
        <bdi class="long">{answerText(view, delivery)}</bdi>,
        delivery.nextAttemptAt === null ? "–" : <Time view={view} at={delivery.nextAttemptAt} />,
        path === undefined || delivery.status === "skipped" ? (
          "–"
        ) : (
          <Action
            view={view}
            action={path}
            label={t("Redeliver")}
            about={String(delivery.seq)}
            id={redeliverId(delivery.seq)}
          >
            <input type="hidden" name="seq" value={delivery.seq} />
            <input type="hidden" name="back" value={withParameter(view.here, "done")} />
          </Action>
        ),
      ])}
      empty={t("No deliveries here.")}
    />
  );
}

/** The result of the last attempt. A text that starts with "HTTP" quotes the receiver; any other is ours and is translated. */
function answerText(view: View, { lastStatus, lastError }: Delivery): string {
  const status = lastStatus === null ? "" : `HTTP ${lastStatus}`;
  if (lastError?.startsWith("HTTP")) return lastError;
  return [status, lastError && ruleText(view, lastError)].filter(Boolean).join(" · ") || "–";
}
