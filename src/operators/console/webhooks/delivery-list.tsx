import { isRefusedFor } from "../../../core/errors.ts";
import { type Delivery, type DeliveryPage, pageOfDeliveries, readDelivery } from "../../services/deliveries.ts";
import { DELIVERY_STATUSES, type DeliveryStatus } from "../../services/events.ts";
import type { Webhook, WebhookOf } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { filteredPath } from "../parts/filter.tsx";
import { Action, Hidden } from "../parts/form.tsx";
import { Ago } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { statusText } from "../sessions/session-table.tsx";
import { useView } from "../view.ts";
import { attemptsOf, DeliveryState, nextText } from "./delivery-state.tsx";
import { resultWords } from "./failure-words.ts";
import { deliveryId, sentAgainSeq, withoutResult } from "./result-address.ts";
import { countText } from "./webhook-health.tsx";

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

/** The list of a webhook's deliveries: tabs by status, a row for each, and links to its other pages. */
export function DeliveryList(props: { siteId: number; path: string; webhook: Webhook; listed: ListedDeliveries }) {
  const { siteId, path, webhook, listed } = props;
  const view = useView();
  const { t } = view;
  const { items, status, seqSentAgain } = listed;
  const isEnabled = webhook.status === "enabled";
  const counts: Partial<Record<DeliveryStatus, number>> = { pending: webhook.pending, failed: webhook.failed };
  return (
    <section class="part">
      <div class="head">
        <h2>{t("Deliveries")}</h2>
        {isEnabled && webhook.failed > 0 && (
          <Action
            action={`${path}/send-again`}
            label={t("Redeliver all failed ({0})", countText(view, webhook.failed))}
          >
            <Hidden values={{ failed: "on" }} />
          </Action>
        )}
      </div>
      <nav class="chips by-status" aria-label={t("Deliveries by status")}>
        {[undefined, ...DELIVERY_STATUSES].map((each) => (
          <a
            class="chip"
            href={filteredPath(path, { status: each })}
            aria-current={each === status ? "page" : undefined}
          >
            {each === undefined ? t("All") : statusText(view, each)}
            {each !== undefined && counts[each] ? <small>{countText(view, counts[each])}</small> : null}
          </a>
        ))}
      </nav>
      <Table
        label={t("Deliveries")}
        head={[
          t("Event"),
          { label: t("Status"), phone: "top" },
          t("Last answer"),
          { label: t("Session"), phone: "hide" },
          { label: t("When"), end: true },
        ]}
        ids={items.map(({ seq }) => deliveryId(seq))}
        rows={items.map((delivery) => {
          const { seq, type, chatId, createdAt } = delivery;
          return [
            <span class="event">
              <a href={`${path}/deliveries/${seq}`}>{type ?? t("(not kept any more)")}</a> <small>{seq}</small>
            </span>,
            <DeliveryState delivery={delivery} isAgain={seq === seqSentAgain} />,
            <LastAnswer webhook={webhook} delivery={delivery} />,
            chatId === null ? (
              "–"
            ) : (
              <a href={`/console/sites/${siteId}/sessions/${chatId}`}>{t("Session {0}", chatId)}</a>
            ),
            <Ago at={createdAt} />,
          ];
        })}
        actions={
          isEnabled && view.may(`${path}/redeliver`)
            ? items.map(({ status, seq }) => (status === "skipped" ? "–" : <SendAgain path={path} seq={seq} />))
            : undefined
        }
        empty={t("No deliveries here.")}
      />
      <Pages path={path} listed={listed} />
    </section>
  );
}

/** The result of the last attempt. Below it are the number of attempts and the next step. */
function LastAnswer({ webhook, delivery }: { webhook: Webhook; delivery: Delivery }) {
  const view = useView();
  const { t } = view;
  const [begun, most] = attemptsOf(delivery);
  const attempts = most === undefined ? t("attempt {0}", begun) : t("attempt {0} of {1}", begun, most);
  const below = [begun > 0 && attempts, nextText(view, delivery, webhook)].filter(Boolean).join(" · ");
  return (
    <span class="pair">
      <span>{resultWords(view, delivery)?.words ?? (delivery.status === "pending" ? t("No answer yet") : "–")}</span>
      {below !== "" && <small class="off-phone">{below}</small>}
    </span>
  );
}

/** Sends one event again, and returns to this page. */
export function SendAgain({ path, seq, label }: { path: string; seq: number; label?: string }) {
  const { t, here } = useView();
  return (
    <Action action={`${path}/redeliver`} label={label ?? t("Redeliver")} about={String(seq)}>
      <Hidden values={{ seq: String(seq), back: withoutResult(here) }} />
    </Action>
  );
}

function Pages({ path, listed }: { path: string; listed: ListedDeliveries }) {
  const { t } = useView();
  const { status, items, isNewest, isOldest } = listed;
  const [newest, oldest] = [items[0], items.at(-1)];
  const pages: [label: string, isThere: boolean, place: Record<string, string>, rel?: string][] = [
    [t("First page"), !isNewest, {}],
    [t("Previous page"), !isNewest && newest !== undefined, { after: String(newest?.seq) }, "prev"],
    [t("Next page"), !isOldest && oldest !== undefined, { before: String(oldest?.seq) }, "next"],
    [t("Last page"), !isOldest, { after: "0" }],
  ];
  if (isNewest && isOldest) return null;
  return (
    <nav class="more" aria-label={t("Pages")}>
      {pages.map(
        ([label, isThere, place, rel]) =>
          isThere && (
            <a href={filteredPath(path, { status, ...place })} rel={rel}>
              {label}
            </a>
          ),
      )}
    </nav>
  );
}
