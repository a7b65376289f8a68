import { isRefusedFor, ServiceError } from "../../../core/errors.ts";
import {
  type Delivery,
  type DeliveryPage,
  MOST_ATTEMPTS,
  MOST_IN_FLIGHT_FAILING,
  PING,
  pageOfDeliveries,
  readDelivery,
} from "../../services/deliveries.ts";
import { DELIVERY_STATUSES, type DeliveryStatus } from "../../services/events.ts";
import type { Site } from "../../services/sites.ts";
import type { Webhook, WebhookOf } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Action, Hidden } from "../parts/form.tsx";
import { Ago, Badge, type BadgeKind, CopyButton, Facts, LookAgain, Time } from "../parts/parts.tsx";
import { filteredPath, Table } from "../parts/table.tsx";
import { statusText } from "../sessions/session-table.tsx";
import { useView, type View } from "../view.ts";
import { isOfUrl, resultWords } from "./failure-words.ts";
import { deliveryId, hasResult, sentAgainSeq, withoutResult } from "./result-address.ts";
import { countText, PairOf, ResultText, spanText } from "./webhook-health.tsx";
import { ChangeUrl, UpLink, webhookOf } from "./webhook-of.tsx";

const DELIVERIES_PER_PAGE = 20;

/** For an attempt that is due so soon, a reader waits at the page. */
const SOON_SECONDS = 600;

interface ListedDeliveries extends DeliveryPage {
  status: DeliveryStatus | undefined;
  /** The seq of the event that was just sent again; NaN without one. */
  seqSentAgain: number;
}

/** Reads the page of the list that the address names. */
export async function listedDeliveries(c: PageContext, webhookOfPath: WebhookOf, path: string) {
  const query = c.req.query();
  const status = DELIVERY_STATUSES.find((each) => each === query.status);
  const place = { ...seqParameter("before", query.before), ...seqParameter("after", query.after) };
  const [page, seqSentAgain] = await Promise.all([
    pageOfDeliveries(c.var.ctx, { ...webhookOfPath, status, ...place, limit: DELIVERIES_PER_PAGE }),
    sentAgainSeq(c, path),
  ]);
  const listed: ListedDeliveries = { ...page, status, seqSentAgain };
  if (Number.isNaN(seqSentAgain) || page.items.some(({ seq }) => seq === seqSentAgain)) return listed;
  // The delivery that was just sent again stays in the list that it was sent from, also when its status has changed.
  const { delivery } = await readDelivery(c.var.ctx, { ...webhookOfPath, seq: seqSentAgain }).catch((error) => {
    if (isRefusedFor(error, "event_unknown")) return { delivery: undefined };
    throw error;
  });
  const items = [...page.items, ...(delivery ? [delivery] : [])].sort((a, b) => b.seq - a.seq);
  return { ...listed, items };
}

const seqParameter = (name: "before" | "after", text = ""): { before?: number; after?: number } =>
  /^\d{1,15}$/.test(text) ? { [name]: Number(text) } : {};

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
            label={t("Send all failed again ({0})", countText(view, webhook.failed))}
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
      {isEnabled && webhook.pending > 0 && (webhook.failingSince === null || hasResult(view.here)) && <LookAgain />}
      <Table
        label={t("Deliveries")}
        head={[
          t("Event"),
          { label: t("Status"), phone: "top" },
          t("Last answer"),
          { label: t("Session"), phone: "hide" },
          { label: t("When"), phone: "top", end: true },
        ]}
        ids={items.map(({ seq }) => deliveryId(seq))}
        rows={items.map((delivery) => [
          <span class="event">
            <a href={`${path}/deliveries/${delivery.seq}`}>{delivery.type ?? t("(not kept any more)")}</a>{" "}
            <small>{delivery.seq}</small>
          </span>,
          <DeliveryState delivery={delivery} isAgain={delivery.seq === seqSentAgain} />,
          <LastAnswer webhook={webhook} delivery={delivery} />,
          delivery.chatId === null ? "–" : <SessionLink siteId={siteId} chatId={delivery.chatId} />,
          <Ago at={delivery.createdAt} />,
        ])}
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

const SessionLink = ({ siteId, chatId }: { siteId: number; chatId: number }) => (
  <a href={`/console/sites/${siteId}/sessions/${chatId}`}>{useView().t("Session {0}", chatId)}</a>
);

/** The result of the last attempt. Below it are the number of attempts and the next step. */
function LastAnswer({ webhook, delivery }: { webhook: Webhook; delivery: Delivery }) {
  const view = useView();
  const { t } = view;
  const [begun, most] = attemptsOf(delivery);
  const attempts = most === undefined ? t("attempt {0}", begun) : t("attempt {0} of {1}", begun, most);
  const below = [begun > 0 && attempts, nextText(view, delivery, webhook)].filter(Boolean).join(" · ");
  const words = resultWords(view, delivery)?.words ?? (delivery.status === "pending" ? t("No answer yet") : "–");
  return <PairOf pair={[words, below]} />;
}

/** Sends one event again, and returns to this page. */
function SendAgain({ path, seq, label }: { path: string; seq: number; label?: string }) {
  const { t, here } = useView();
  return (
    <Action action={`${path}/redeliver`} label={label ?? t("Send again")} about={String(seq)}>
      <Hidden values={{ seq: String(seq), back: withoutResult(here) }} />
    </Action>
  );
}

function Pages({ path, listed: { status, items, isNewest, isOldest } }: { path: string; listed: ListedDeliveries }) {
  const { t } = useView();
  if (isNewest && isOldest) return null;
  const link = (label: string, name = "after", seq?: number, rel?: string) => (
    <a href={filteredPath(path, { status, [name]: seq?.toString() })} rel={rel}>
      {label}
    </a>
  );
  return (
    <nav class="more" aria-label={t("Pages")}>
      {!isNewest && link(t("First page"))}
      {!isNewest && items[0] && link(t("Previous page"), "after", items[0].seq, "prev")}
      {!isOldest && link(t("Next page"), "before", items.at(-1)?.seq, "next")}
      {!isOldest && link(t("Last page"), "after", 0)}
    </nav>
  );
}

/** One event and its delivery to a webhook: the result, and the sent body. */
export async function deliveryPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  const seqText = c.req.param("seq") ?? "";
  if (!/^\d{1,15}$/.test(seqText)) throw new ServiceError("not_found", { reason: "event_unknown" });
  const { webhook, webhookOfPath, site, path, name } = await webhookOf(c, siteOfPath);
  const [read, seqSentAgain] = await Promise.all([
    readDelivery(ctx, { ...webhookOfPath, seq: Number(seqText) }),
    sentAgainSeq(c, path),
  ]);
  const { seq, type, delivery, body, chatId, eventId, createdAt } = read;
  const next = delivery && nextText(view, delivery, webhook);
  const isInTrouble = webhook.status === "disabled" || webhook.failingSince !== null;
  const changesUrl = isInTrouble && delivery?.status !== "delivered" && delivery && isOfUrl(delivery);
  const sendLabel = delivery === undefined && type !== PING ? t("Send it") : t("Send again");
  const shown = (
    <>
      <UpLink path={path} name={name} />
      <section class="card" id={deliveryId(seq)}>
        <div class="health">
          {delivery === undefined ? (
            <>
              <Badge kind="off" label={t("Missed")} />
              <span>
                {t("It was never meant for this webhook: it was disabled, not there yet, or does not want this type.")}
              </span>
            </>
          ) : (
            <>
              <DeliveryState delivery={delivery} isAgain={seqSentAgain === seq} />
              <div class="why">
                <ResultText result={delivery} noWords={delivery.status === "pending" ? t("No answer yet") : "–"} />
              </div>
            </>
          )}
        </div>
        <Facts
          rows={[
            delivery !== undefined && delivery.attempts > 0 && [t("Attempts"), <Attempts delivery={delivery} />],
            next !== undefined && next !== "" && [t("Next attempt"), next],
            chatId !== null && [t("Session"), <SessionLink siteId={site.id} chatId={chatId} />],
            eventId !== null && ["webhook-id", eventId, "webhook-id"],
            [t("When"), <Time at={createdAt} />],
          ]}
        />
        {delivery?.status === "pending" && (delivery.nextAttemptAt ?? 0) - view.now < SOON_SECONDS && <LookAgain />}
        <div class="buttons">
          {changesUrl && <ChangeUrl path={path} />}
          {webhook.status === "enabled" && body !== null && <SendAgain path={path} seq={seq} label={sendLabel} />}
        </div>
      </section>
      <section class="part">
        <div class="head">
          <h2>{t("What is sent")}</h2>
          {body !== null && <CopyButton id="payload" />}
        </div>
        {body === null ? (
          <p class="empty">
            {eventId === null
              ? t("The event is not kept any more.")
              : t("The event was erased with its customer's data.")}
          </p>
        ) : (
          <>
            <pre id="payload">{JSON.stringify(JSON.parse(body), null, 2)}</pre>
            <p class="hint">{t("Line breaks are added here. Each attempt sends the same bytes, on one line.")}</p>
          </>
        )}
      </section>
    </>
  );
  const title = t("{0}, event {1}", type ?? t("(not kept any more)"), seq);
  return showPage(c, { title, site, body: shown });
}

/** How many attempts there were, the time of the last, and how long it took. */
function Attempts({ delivery }: { delivery: Delivery }) {
  const view = useView();
  const [begun, most] = attemptsOf(delivery);
  const { lastAttemptAt, durationMs } = delivery;
  return (
    <>
      {most === undefined ? begun : view.t("{0} of at most {1}", begun, most)}
      {lastAttemptAt !== null && " · "}
      {lastAttemptAt !== null && <Time at={lastAttemptAt} />}
      {durationMs !== null && ` · ${durationText(view, durationMs)}`}
    </>
  );
}

const KINDS: Record<DeliveryStatus, BadgeKind> = { pending: "wait", delivered: "good", failed: "bad", skipped: "off" };

/** @param props `label` replaces the word of the status */
export const DeliveryBadge = ({ status, label }: { status: DeliveryStatus; label?: string | undefined }) => (
  <Badge kind={KINDS[status]} label={label ?? statusText(useView(), status)} />
);

/** @param props `isAgain`: whether this reader has just sent it again */
function DeliveryState({ delivery, isAgain }: { delivery: Delivery; isAgain: boolean }) {
  const { status, lastStatus, lastError } = delivery;
  const isOnItsWay = isAgain && status === "pending" && lastStatus === null && lastError === null;
  return <DeliveryBadge status={status} label={isOnItsWay ? useView().t("On its way") : undefined} />;
}

/** How many attempts have begun, and how many there are at most. Nobody can say how many follow a ping, which is tried once. */
function attemptsOf({ attempts, status, type }: Delivery): [begun: number, most: number | undefined] {
  const isFinal = status === "delivered" || status === "skipped" || type === PING || attempts > MOST_ATTEMPTS;
  return [attempts, isFinal ? undefined : MOST_ATTEMPTS];
}

/** The next step of a delivery in words, empty when there is none. It never names a time in the past. */
function nextText(view: View, delivery: Delivery, webhook: Pick<Webhook, "status" | "failingSince">): string {
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

function durationText({ t, language }: View, milliseconds: number): string {
  const seconds = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  return milliseconds < 1_000 ? t("{0} ms", milliseconds) : t("{0} s", seconds.format(milliseconds / 1_000));
}
