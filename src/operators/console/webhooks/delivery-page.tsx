import { ServiceError } from "../../../core/errors.ts";
import { PING, type ReadDelivery, readDelivery } from "../../services/deliveries.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Badge, CopyButton, Facts, Time } from "../parts/parts.tsx";
import { useView } from "../view.ts";
import { SendAgain } from "./delivery-list.tsx";
import { attemptsOf, DeliveryState, durationText, nextText } from "./delivery-state.tsx";
import { resultWords } from "./failure-words.ts";
import { deliveryId, sentAgainSeq } from "./result-address.ts";
import { QuoteAndCure } from "./webhook-health.tsx";
import { UpLink, webhookOf } from "./webhook-of.tsx";

/** One event and its delivery to a webhook: the result, and the sent body. */
export async function deliveryPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const seqText = c.req.param("seq") ?? "";
  if (!/^\d{1,15}$/.test(seqText)) throw new ServiceError("not_found", { reason: "event_unknown" });
  const { webhook, webhookOfPath, site, path } = await webhookOf(c, siteOfPath);
  const [read, seqSentAgain] = await Promise.all([
    readDelivery(ctx, { ...webhookOfPath, seq: Number(seqText) }),
    sentAgainSeq(c, path),
  ]);
  const { seq, type, delivery, body, chatId, eventId, createdAt } = read;
  const next = delivery && nextText(view, delivery, webhook);
  const sendLabel = delivery === undefined && type !== PING ? t("Send it") : t("Redeliver");
  const shown = (
    <>
      <UpLink path={path} webhook={webhook} />
      <section class="card" id={deliveryId(seq)}>
        <div class="health">
          {delivery === undefined ? (
            <Badge kind="off" label={t("Missed")} />
          ) : (
            <DeliveryState delivery={delivery} isAgain={seqSentAgain === seq} />
          )}
          <Outcome read={read} />
        </div>
        <Facts
          rows={[
            delivery !== undefined && delivery.attempts > 0 && [t("Attempts"), <Attempts delivery={delivery} />],
            next !== undefined && next !== "" && [t("Next attempt"), next],
            [t("Happened"), <Time at={createdAt} />],
            chatId !== null && [
              t("Session"),
              <a href={`/console/sites/${site.id}/sessions/${chatId}`}>{t("Session {0}", chatId)}</a>,
            ],
            eventId !== null && ["webhook-id", <code>{eventId}</code>],
          ]}
        />
        {webhook.status === "enabled" && body !== null && (
          <div class="buttons">
            <SendAgain path={path} seq={seq} label={sendLabel} />
          </div>
        )}
      </section>
      <Payload body={body} isKept={eventId !== null} />
    </>
  );
  const title = t("{0}, event {1}", type ?? t("(not kept any more)"), seq);
  return showPage(c, { title, site, body: shown });
}

/** How many attempts there were, the time of the last, and how long it took. */
function Attempts({ delivery }: { delivery: NonNullable<ReadDelivery["delivery"]> }) {
  const view = useView();
  const [begun, most] = attemptsOf(delivery);
  const { lastAttemptAt, durationMs } = delivery;
  return (
    <>
      {most === undefined ? begun : view.t("{0} of at most {1}", begun, most)}
      {lastAttemptAt !== null && (
        <>
          {" · "}
          <Time at={lastAttemptAt} />
        </>
      )}
      {durationMs !== null && ` · ${durationText(view, durationMs)}`}
    </>
  );
}

/** The result of the last attempt. */
function Outcome({ read: { delivery } }: { read: ReadDelivery }) {
  const view = useView();
  const { t } = view;
  if (delivery === undefined)
    return (
      <span>
        {t("It was never meant for this webhook: it was disabled, not there yet, or does not want this type.")}
      </span>
    );
  const result = resultWords(view, delivery);
  if (result === undefined) return <span>{delivery.status === "pending" ? t("No answer yet") : ""}</span>;
  return (
    <div class="why">
      <p>
        <strong>{result.words}</strong>
      </p>
      {delivery.status !== "delivered" && <QuoteAndCure result={delivery} quote={result.quote} />}
    </div>
  );
}

/** The sent body. Its line breaks are for the reader, and the sent bytes have none. */
function Payload({ body, isKept }: { body: string | null; isKept: boolean }) {
  const { t } = useView();
  return (
    <section class="part">
      <div class="head">
        <h2>{t("What is sent")}</h2>
        {body !== null && <CopyButton id="payload" />}
      </div>
      {body === null ? (
        <p class="empty">
          {isKept ? t("The event was erased with its customer's data.") : t("The event is not kept any more.")}
        </p>
      ) : (
        <>
          <pre id="payload">{JSON.stringify(JSON.parse(body), null, 2)}</pre>
          <p class="hint">{t("Line breaks are added here. Each attempt sends the same bytes, on one line.")}</p>
        </>
      )}
    </section>
  );
}
