import { ServiceError, unlessRefusedFor } from "../../../core/errors.ts";
import { MOST_ATTEMPTS, MOST_IN_FLIGHT_FAILING, pageOfDeliveries, readDelivery } from "../../services/deliveries.ts";
import { DELIVERY_STATUSES, type Delivery, type DeliveryStatus } from "../../services/events.ts";
import type { Site } from "../../services/sites.ts";
import { PING, type Webhook } from "../../services/webhooks.ts";
import { withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Action, Hidden } from "../parts/form.tsx";
import { filteredPath, Table } from "../parts/list.tsx";
import { Ago, Badge, type BadgeKind, CopyButton, Facts, LookAgain, Time } from "../parts/parts.tsx";
import { statusText } from "../sessions/session-table.tsx";
import { useView, type View } from "../view.ts";
import { countText, isOfUrl, type Pair, PairOf, ResultText, resultWords, spanText } from "./webhook-health.tsx";
import { ChangeUrl, deliveryId, RESULTS, resultIn, UpLink, webhookOf } from "./webhook-of.tsx";

/** For an attempt that is due so soon, a reader waits at the page. */
const SOON_SECONDS = 600;

/** The seq of an event in an address; undefined for any other text. */
export const seqIn = (text = ""): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined);

/** The list of a webhook's deliveries that the address names: tabs by status, a row for each, and links to its other pages. */
export async function deliveryList(c: PageContext, owner: Awaited<ReturnType<typeof webhookOf>>) {
  const { ctx, view, t } = c.var;
  const { webhook, webhookOfPath, site, path } = owner;
  const query = c.req.query();
  const status = DELIVERY_STATUSES.find((each) => each === query.status);
  const place = { before: seqIn(query.before), after: seqIn(query.after), limit: 20 };
  const again = await resultIn(c, path, "again");
  const page = await pageOfDeliveries(ctx, { ...webhookOfPath, status, ...place });
  // The delivery that was just sent again stays in the list that it was sent from, also when its status has changed.
  const lacks = again !== undefined && !page.items.some(({ seq }) => String(seq) === again);
  const seqOfAgain = { ...webhookOfPath, seq: Number(again) };
  const read = lacks ? await readDelivery(ctx, seqOfAgain).catch(unlessRefusedFor("event_unknown")) : undefined;
  const items = [...page.items, ...(read?.delivery ? [read.delivery] : [])].sort((a, b) => b.seq - a.seq);
  const isEnabled = webhook.status === "enabled";
  const isAwaited = webhook.failingSince === null || RESULTS.some((name) => name in query);
  const counts: Partial<Record<DeliveryStatus, number>> = { pending: webhook.pending, failed: webhook.failed };
  // A ping that failed is not sent again with the others.
  const failedPings = items.filter((item) => item.type === PING && item.status === "failed").length;
  const failed = t("Send all failed again ({0})", countText(view, webhook.failed));
  const pageLink = (label: string, name = "after", seq?: number, rel?: string) => (
    <a href={filteredPath(path, { status, [name]: seq?.toString() })} rel={rel}>
      {label}
    </a>
  );
  return (
    <section class="part">
      <div class="head">
        <h2>{t("Deliveries")}</h2>
        {isEnabled && webhook.failed > failedPings && (
          <Action action={`${path}/send-again`} label={failed}>
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
            {each ? statusText(view, each) : t("All")}
            {each && counts[each] ? <small>{countText(view, counts[each])}</small> : null}
          </a>
        ))}
      </nav>
      {isEnabled && webhook.pending > 0 && isAwaited && <LookAgain />}
      <Table
        label={t("Deliveries")}
        head={[
          t("Event"),
          { label: t("Status"), phone: "top" },
          t("Last answer"),
          { label: t("Session"), phone: "hide" },
          { label: t("When"), phone: "top" },
        ]}
        ids={items.map(({ seq }) => deliveryId(seq))}
        rows={items.map((delivery) => [
          <span class="event">
            <a href={`${path}/deliveries/${delivery.seq}`}>{delivery.type ?? t("(not kept any more)")}</a>{" "}
            <small>{delivery.seq}</small>
          </span>,
          <DeliveryState delivery={delivery} again={again} />,
          <PairOf pair={lastAnswer(view, delivery, webhook)} />,
          delivery.chatId === null ? "–" : <SessionLink siteId={site.id} chatId={delivery.chatId} />,
          <Ago at={delivery.createdAt} />,
        ])}
        actions={
          isEnabled && view.may(`${path}/redeliver`)
            ? items.map(({ status, seq }) => (status === "skipped" ? "–" : <SendAgain path={path} seq={seq} />))
            : undefined
        }
        empty={t("No deliveries here.")}
      />
      {!(page.isNewest && page.isOldest) && (
        <nav class="more" aria-label={t("Pages")}>
          {!page.isNewest && pageLink(t("First page"))}
          {!page.isNewest && items[0] && pageLink(t("Previous page"), "after", items[0].seq, "prev")}
          {!page.isOldest && pageLink(t("Next page"), "before", items.at(-1)?.seq, "next")}
          {!page.isOldest && pageLink(t("Last page"), "after", 0)}
        </nav>
      )}
    </section>
  );
}

const SessionLink = ({ siteId, chatId }: { siteId: number; chatId: number }) => (
  <a href={`/console/sites/${siteId}/sessions/${chatId}`}>{useView().t("Session {0}", chatId)}</a>
);

/** The result of the last attempt. Below it are the number of attempts and the next step. */
function lastAnswer(view: View, delivery: Delivery, webhook: Webhook): Pair {
  const [begun, most] = attemptsOf(delivery);
  const attempts = most === undefined ? view.t("attempt {0}", begun) : view.t("attempt {0} of {1}", begun, most);
  const below = [begun > 0 && attempts, nextText(view, delivery, webhook)].filter(Boolean).join(" · ");
  return [resultWords(view, delivery)?.words ?? noWordsOf(view, delivery), below];
}

const noWordsOf = ({ t }: View, { status }: Delivery) => (status === "pending" ? t("No answer yet") : "–");

/** Sends one event again, and returns to this page. */
function SendAgain({ path, seq, label }: { path: string; seq: number; label?: string }) {
  const { t, here } = useView();
  return (
    <Action action={`${path}/redeliver`} label={label ?? t("Send again")} about={String(seq)}>
      <Hidden values={{ seq: String(seq), back: RESULTS.reduce((now, name) => withParameter(now, name), here) }} />
    </Action>
  );
}

/** One event and its delivery to a webhook: the result, and the sent body. */
export async function deliveryPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  const seq = seqIn(c.req.param("seq"));
  if (seq === undefined) throw new ServiceError("not_found", { reason: "event_unknown" });
  const { webhook, webhookOfPath, site, path, name } = await webhookOf(c, siteOfPath);
  const again = await resultIn(c, path, "again");
  const { type, delivery, body, chatId, eventId, createdAt } = await readDelivery(ctx, { ...webhookOfPath, seq });
  const next = delivery && nextText(view, delivery, webhook);
  const [begun, most] = delivery ? attemptsOf(delivery) : [0];
  const isInTrouble = webhook.status === "disabled" || webhook.failingSince !== null;
  const missed = t("It was never meant for this webhook: it was disabled, not there yet, or does not want this type.");
  const attempts = delivery && [
    most === undefined ? begun : t("{0} of at most {1}", begun, most),
    delivery.lastAttemptAt !== null && [" · ", <Time at={delivery.lastAttemptAt} />],
    delivery.durationMs !== null && ` · ${durationText(view, delivery.durationMs)}`,
  ];
  const sendLabel = delivery === undefined && type !== PING ? t("Send it") : t("Send again");
  const shown = (
    <>
      <UpLink path={path} name={name} />
      <section class="card" id={deliveryId(seq)}>
        <div class="health">
          {delivery ? <DeliveryState delivery={delivery} again={again} /> : <Badge kind="off" label={t("Missed")} />}
          <div class="why">
            {delivery ? <ResultText result={delivery} noWords={noWordsOf(view, delivery)} /> : <p>{missed}</p>}
          </div>
        </div>
        <Facts
          rows={[
            begun > 0 && [t("Attempts"), attempts],
            !!next && [t("Next attempt"), next],
            chatId !== null && [t("Session"), <SessionLink siteId={site.id} chatId={chatId} />],
            eventId !== null && ["webhook-id", eventId, "webhook-id"],
            [t("When"), <Time at={createdAt} />],
          ]}
        />
        {delivery?.status === "pending" && (delivery.nextAttemptAt ?? 0) - view.now < SOON_SECONDS && <LookAgain />}
        <div class="buttons">
          {isInTrouble && delivery && delivery.status !== "delivered" && isOfUrl(delivery) && <ChangeUrl path={path} />}
          {webhook.status === "enabled" && body !== null && <SendAgain path={path} seq={seq} label={sendLabel} />}
        </div>
      </section>
      <section class="part">
        <div class="head">
          <h2>{t("What is sent")}</h2>
          {body !== null && <CopyButton id="payload" />}
        </div>
        {body !== null && <pre id="payload">{JSON.stringify(JSON.parse(body), null, 2)}</pre>}
        <p class={body === null ? "empty" : "hint"}>
          {body !== null
            ? t("Line breaks are added here. Each attempt sends the same bytes, on one line.")
            : eventId === null
              ? t("The event is not kept any more.")
              : t("The event was erased with its customer's data.")}
        </p>
      </section>
    </>
  );
  const title = t("{0}, event {1}", type ?? t("(not kept any more)"), seq);
  return showPage(c, { title, site, body: shown });
}

const KINDS: Record<DeliveryStatus, BadgeKind> = { pending: "wait", delivered: "good", failed: "bad", skipped: "off" };

/** @param props `label` replaces the word of the status */
export const DeliveryBadge = ({ status, label }: { status: DeliveryStatus; label?: string | false }) => (
  <Badge kind={KINDS[status]} label={label || statusText(useView(), status)} />
);

/** @param props `again` is the seq of the event that this reader has just sent again */
function DeliveryState({ delivery, again }: { delivery: Delivery; again: string | undefined }) {
  const { t, isHomeClosed } = useView();
  const { seq, status, lastStatus, lastError } = delivery;
  const isOnItsWay = String(seq) === again && status === "pending" && lastStatus === null && lastError === null;
  return <DeliveryBadge status={status} label={isOnItsWay && !isHomeClosed && t("On its way")} />;
}

/** How many attempts have begun, and how many there are at most. Nobody can say how many follow a ping, which is tried once. */
function attemptsOf({ attempts, status, type }: Delivery): [begun: number, most?: number] {
  const isFinal = status === "delivered" || status === "skipped" || type === PING || attempts > MOST_ATTEMPTS;
  return isFinal ? [attempts] : [attempts, MOST_ATTEMPTS];
}

/** The next step of a delivery in words, empty when there is none. It never names a time in the past. */
function nextText(view: View, delivery: Delivery, webhook: Webhook): string {
  const { t, now } = view;
  const { status, nextAttemptAt, isLeased, type } = delivery;
  if (status !== "pending" || nextAttemptAt === null) return "";
  if (webhook.status === "disabled") return t("being ended");
  const isDue = nextAttemptAt <= now;
  if (isLeased && !isDue) return t("being sent now");
  if (!isDue) return t("next attempt in {0}", spanText(view, nextAttemptAt - now));
  if (view.isHomeClosed) return t("once the home is open");
  // A ping is sent before all other deliveries.
  const isFailing = webhook.failingSince !== null && type !== PING;
  return isFailing ? t("next in turn, {0} at a time while failing", MOST_IN_FLIGHT_FAILING) : t("next in turn");
}

const durationText = ({ t }: View, milliseconds: number): string =>
  milliseconds < 1_000 ? t("{0} ms", milliseconds) : t("{0} s", (milliseconds / 1_000).toFixed(1));
