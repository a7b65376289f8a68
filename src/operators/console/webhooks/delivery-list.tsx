import { isRefusedFor } from "../../../core/errors.ts";
import { type Delivery, type DeliveryPage, pageOfDeliveries, readDelivery } from "../../services/deliveries.ts";
import { DELIVERY_STATUSES, type DeliveryStatus } from "../../services/events.ts";
import type { Webhook, WebhookOf } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { filteredPath } from "../parts/filter.tsx";
import { Action } from "../parts/form.tsx";
import { statusText } from "../sessions/session-table.tsx";
import type { View } from "../view.ts";
import { countText } from "./delivered-share.tsx";
import { type DeliveringWebhook, DeliveryTable } from "./delivery-table.tsx";
import { sentAgainSeq, withoutResult } from "./redelivered.ts";

/** The list of a webhook's deliveries: tabs by status, the table, and links to its other pages. */

const DELIVERIES_PER_PAGE = 20;

interface ListedDeliveries extends DeliveryPage {
  status: DeliveryStatus | undefined;
  /** The seq of the event that was just sent again. */
  seqSentAgain: number | undefined;
}

/** Reads the page of the list that the address names. */
export async function listedDeliveries(
  c: PageContext,
  webhookOfPath: WebhookOf,
  path: string,
): Promise<ListedDeliveries> {
  const query = c.req.query();
  const status = DELIVERY_STATUSES.find((each) => each === query.status);
  const cursor = { ...seqParameter("before", query.before), ...seqParameter("after", query.after) };
  const [page, seqSentAgain] = await Promise.all([
    pageOfDeliveries(c.var.ctx, { ...webhookOfPath, status, ...cursor, limit: DELIVERIES_PER_PAGE }),
    sentAgainSeq(c, path),
  ]);
  return { ...page, items: await withSentAgain(c, webhookOfPath, page.items, seqSentAgain), status, seqSentAgain };
}

const seqParameter = (name: "before" | "after", text = ""): { before?: number; after?: number } =>
  /^\d{1,15}$/.test(text) ? { [name]: Number(text) } : {};

/** Keeps the delivery that was just sent again in the list that it was sent from, also when its status has changed. */
async function withSentAgain(
  c: PageContext,
  webhookOfPath: WebhookOf,
  items: Delivery[],
  seqSentAgain: number | undefined,
) {
  if (seqSentAgain === undefined || items.some(({ seq }) => seq === seqSentAgain)) return items;
  try {
    const { delivery } = await readDelivery(c.var.ctx, { ...webhookOfPath, seq: seqSentAgain });
    return delivery === undefined ? items : [...items, delivery].sort((a, b) => b.seq - a.seq);
  } catch (error) {
    if (isRefusedFor(error, "event_unknown")) return items;
    throw error;
  }
}

export function DeliveryList(props: DeliveringWebhook & { c: PageContext; listed: ListedDeliveries }) {
  const { c, listed, path, webhook } = props;
  const { view } = c.var;
  const { status, items, seqSentAgain } = listed;
  const back = c.req.method === "POST" ? path : withoutResult(view.here);
  return (
    <section class="part">
      <div class="head">
        <h2>{view.t("Deliveries")}</h2>
        {webhook.status === "enabled" && webhook.failed > 0 && (
          <Action
            action={`${path}/send-again`}
            label={view.t("Redeliver all failed ({0})", countText(view, webhook.failed))}
          >
            <input type="hidden" name="failed" value="on" />
          </Action>
        )}
      </div>
      <Tabs view={view} path={path} webhook={webhook} status={status} />
      <DeliveryTable {...props} view={view} deliveries={items} back={back} seqSentAgain={seqSentAgain} />
      <Pages view={view} path={path} listed={listed} />
    </section>
  );
}

function Tabs(props: { view: View; path: string; webhook: Webhook; status: DeliveryStatus | undefined }) {
  const { view, path, webhook, status } = props;
  const counts: Partial<Record<DeliveryStatus, number>> = { pending: webhook.pending, failed: webhook.failed };
  return (
    <nav class="chips by-status" aria-label={view.t("Deliveries by status")}>
      {[undefined, ...DELIVERY_STATUSES].map((each) => (
        <a class="chip" href={filteredPath(path, { status: each })} aria-current={each === status ? "page" : undefined}>
          {each === undefined ? view.t("All") : statusText(view, each)}
          {each !== undefined && counts[each] ? <small>{countText(view, counts[each])}</small> : null}
        </a>
      ))}
    </nav>
  );
}

function Pages({ view, path, listed }: { view: View; path: string; listed: ListedDeliveries }) {
  const { t } = view;
  const { status, items, isNewest, isOldest } = listed;
  if (isNewest && isOldest) return null;
  const href = (place: { before?: string; after?: string }) => filteredPath(path, { status, ...place });
  const [newest, oldest] = [items[0], items.at(-1)];
  return (
    <nav class="more" aria-label={t("Pages")}>
      {!isNewest && <a href={href({})}>{t("First page")}</a>}
      {!isNewest && newest && (
        <a href={href({ after: String(newest.seq) })} rel="prev">
          {t("Previous page")}
        </a>
      )}
      {!isOldest && oldest && (
        <a href={href({ before: String(oldest.seq) })} rel="next">
          {t("Next page")}
        </a>
      )}
      {!isOldest && <a href={href({ after: "0" })}>{t("Last page")}</a>}
    </nav>
  );
}
