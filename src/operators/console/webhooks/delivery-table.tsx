import { type Delivery, MOST_ATTEMPTS, PING } from "../../services/deliveries.ts";
import type { Webhook } from "../../services/webhooks.ts";
import { Action } from "../parts/form.tsx";
import { Ago } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import type { View } from "../view.ts";
import { DeliveryBadge } from "./delivery-badge.tsx";
import { nextText } from "./delivery-words.ts";
import { resultWords } from "./failure-words.ts";
import { deliveryId } from "./redelivered.ts";

/** A webhook as the table of its deliveries needs it. */
export interface DeliveringWebhook {
  siteId: number;
  path: string;
  webhook: Webhook;
}

/**
 * The deliveries to a webhook, a row each.
 *
 * @param back  the path and query to which the buttons that redeliver return
 * @param seqSentAgain the seq of the event that was just sent again
 */
export function DeliveryTable(
  props: DeliveringWebhook & { view: View; deliveries: Delivery[]; back: string; seqSentAgain: number | undefined },
) {
  const { view, siteId, path, webhook, deliveries, back, seqSentAgain } = props;
  const { t } = view;
  const mayChange = webhook.status === "enabled" && view.may(`${path}/redeliver`);
  return (
    <Table
      label={t("Deliveries")}
      head={[
        t("Event"),
        { label: t("Status"), phone: "top" },
        t("Last answer"),
        { label: t("Session"), phone: "hide" },
        { label: t("When"), end: true },
        ...(mayChange ? [{ label: t("Change"), phone: "hide" as const, end: true as const }] : []),
      ]}
      ids={deliveries.map(({ seq }) => deliveryId(seq))}
      rows={deliveries.map((delivery) => [
        <span class="event">
          <a href={`${path}/deliveries/${delivery.seq}`}>{delivery.type ?? t("(not kept any more)")}</a>{" "}
          <small>{delivery.seq}</small>
        </span>,
        <DeliveryState view={view} delivery={delivery} isAgain={delivery.seq === seqSentAgain} />,
        <LastAnswer view={view} webhook={webhook} delivery={delivery} />,
        delivery.chatId === null ? (
          "–"
        ) : (
          <a href={`/console/sites/${siteId}/sessions/${delivery.chatId}`}>{t("Session {0}", delivery.chatId)}</a>
        ),
        <Ago at={delivery.createdAt} />,
        ...(mayChange
          ? [delivery.status === "skipped" ? "–" : <Redeliver view={view} path={path} back={back} seq={delivery.seq} />]
          : []),
      ])}
      empty={t("No deliveries here.")}
    />
  );
}

/** @param props `isAgain`: whether this reader has just sent it again */
export function DeliveryState({ view, delivery, isAgain }: { view: View; delivery: Delivery; isAgain: boolean }) {
  const { t } = view;
  const { status, lastStatus, lastError } = delivery;
  const isOnItsWay = isAgain && status === "pending" && lastStatus === null && lastError === null;
  return <DeliveryBadge view={view} status={status} label={isOnItsWay ? t("On its way") : undefined} />;
}

/** The result of the last attempt. Below it are the number of attempts and the next step. */
function LastAnswer({ view, webhook, delivery }: { view: View; webhook: Webhook; delivery: Delivery }) {
  const { t } = view;
  const result = resultWords(view, delivery);
  const below = [attemptsText(view, delivery), nextText(view, delivery, webhook)].filter(Boolean).join(" · ");
  return (
    <span class="pair">
      {result === undefined ? (
        <span>{delivery.status === "pending" ? t("No answer yet") : "–"}</span>
      ) : (
        <span>{result.words}</span>
      )}
      {below !== "" && <small class="off-phone">{below}</small>}
    </span>
  );
}

/** How many attempts have begun, and how many there are at most. */
function attemptsText({ t }: View, delivery: Delivery): string {
  const { attempts } = delivery;
  if (attempts === 0) return "";
  return isFinal(delivery) ? t("attempt {0}", attempts) : t("attempt {0} of {1}", attempts, MOST_ATTEMPTS);
}

/** Whether no attempt follows, or nobody can say how many follow. A ping is tried once. */
export const isFinal = ({ attempts, status, type }: Delivery): boolean =>
  status === "delivered" || status === "skipped" || type === PING || attempts > MOST_ATTEMPTS;

export function Redeliver(props: { view: View; path: string; back: string; seq: number; label?: string }) {
  const { view, path, back, seq, label = view.t("Redeliver") } = props;
  return (
    <Action action={`${path}/redeliver`} label={label} about={String(seq)}>
      <input type="hidden" name="seq" value={seq} />
      <input type="hidden" name="back" value={back} />
    </Action>
  );
}
