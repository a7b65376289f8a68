import { type Delivery, type DeliveryStatus, FAILURE_WORDS } from "../../../services/events.ts";
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
 * @param path of the form that redelivers an event, while the webhook is enabled, for readers who may
 * @param back the path and query that this form returns to
 */
export function DeliveryTable(props: {
  view: View;
  siteId: number;
  deliveries: Delivery[];
  path: string;
  isEnabled: boolean;
  back: string;
}) {
  const { view, path, isEnabled, back } = props;
  const { t } = view;
  const head = [t("Event"), t("Status"), t("Attempts, the last at"), t("Last answer"), t("Next attempt")];
  const mayChange = view.may(path);
  return (
    <Table
      label={t("Deliveries")}
      head={mayChange ? [...head, t("Change")] : head}
      rows={props.deliveries.map((delivery) => [
        <span class="pair">
          {`${delivery.seq} ${delivery.type ?? t("(not kept any more)")}`}
          {delivery.chatId !== null && (
            <a href={`/console/sites/${props.siteId}/sessions/${delivery.chatId}`}>
              {t("Session {0}", delivery.chatId)}
            </a>
          )}
          <Time view={view} at={delivery.createdAt} />
        </span>,
        <Badge kind={KINDS[delivery.status]} label={statusText(view, delivery.status)} />,
        <span class="pair">
          {delivery.attempts}
          {delivery.lastAttemptAt !== null && <Time view={view} at={delivery.lastAttemptAt} />}
          {delivery.durationMs !== null && <span>{durationText(view, delivery.durationMs)}</span>}
        </span>,
        <bdi class="long">{answerText(view, delivery)}</bdi>,
        delivery.nextAttemptAt === null ? "–" : <Time view={view} at={delivery.nextAttemptAt} />,
        ...(mayChange
          ? [
              isEnabled && delivery.status !== "skipped" ? (
                <Redeliver {...{ view, path, back }} seq={delivery.seq} />
              ) : (
                "–"
              ),
            ]
          : []),
      ])}
      empty={t("No deliveries here.")}
    />
  );
}

function Redeliver({ view, path, back, seq }: { view: View; path: string; back: string; seq: number }) {
  return (
    <Action view={view} action={path} label={view.t("Redeliver")} about={String(seq)} id={redeliverId(seq)}>
      <input type="hidden" name="seq" value={seq} />
      <input type="hidden" name="back" value={back} />
    </Action>
  );
}

/** The result of the last attempt. A text that starts with "HTTP" quotes the receiver, maybe after words of ours. Ours are translated. */
export function answerText(view: View, { lastStatus, lastError }: Pick<Delivery, "lastStatus" | "lastError">): string {
  const status = lastStatus === null ? "" : `HTTP ${lastStatus}`;
  const words = FAILURE_WORDS.find((each) => `${lastError}: `.startsWith(`${each}: `)) ?? "";
  if (lastError?.startsWith("HTTP")) return ruleText(view, words) + lastError.slice(words.length);
  return [status, lastError && ruleText(view, lastError)].filter(Boolean).join(" · ") || "–";
}

function durationText({ t, language }: View, milliseconds: number): string {
  const seconds = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  return milliseconds < 1_000 ? t("{0} ms", milliseconds) : t("{0} s", seconds.format(milliseconds / 1_000));
}
