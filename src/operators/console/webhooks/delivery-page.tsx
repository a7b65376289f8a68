import { ServiceError } from "../../../core/errors.ts";
import { MOST_ATTEMPTS, PING, type ReadDelivery, readDelivery } from "../../services/deliveries.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Badge, CopyButton, Time } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { DeliveryState, isFinal, Redeliver } from "./delivery-table.tsx";
import { durationText, nextText } from "./delivery-words.ts";
import { cureOf, resultWords } from "./failure-words.ts";
import { QuoteAndCure } from "./quote-and-cure.tsx";
import { deliveryId, sentAgainSeq, withoutResult } from "./redelivered.ts";
import { UpLink } from "./up-link.tsx";
import { hostOf, webhookOf } from "./webhook-of.tsx";

/** One event and its delivery to a webhook: the result, and the sent body. */
export async function deliveryPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const seqText = c.req.param("seq") ?? "";
  if (!/^\d{1,15}$/.test(seqText)) throw new ServiceError("not_found", { reason: "event_unknown" });
  const { webhook, webhookOfPath, site, path } = await webhookOf(c, siteOfPath);
  const [deliveryAndEvent, seqSentAgain] = await Promise.all([
    readDelivery(ctx, { ...webhookOfPath, seq: Number(seqText) }),
    sentAgainSeq(c, path),
  ]);
  const { seq, type, delivery, body } = deliveryAndEvent;
  const mayBeSent = webhook.status === "enabled" && body !== null;
  const isMissed = delivery === undefined;
  const next = delivery && nextText(view, delivery, webhook);
  const shown = (
    <>
      <UpLink href={path} name={hostOf(webhook)} />
      <section class="card" id={deliveryId(seq)}>
        <div class="health">
          {isMissed ? (
            <Badge kind="off" label={t("Missed")} />
          ) : (
            <DeliveryState view={view} delivery={delivery} isAgain={seqSentAgain === seq} />
          )}
          <Outcome view={view} read={deliveryAndEvent} />
        </div>
        <dl class="facts">
          {delivery !== undefined && delivery.attempts > 0 && (
            <>
              <dt>{t("Attempts")}</dt>
              <dd>
                {isFinal(delivery) ? delivery.attempts : t("{0} of at most {1}", delivery.attempts, MOST_ATTEMPTS)}
                {delivery.lastAttemptAt !== null && (
                  <>
                    {" · "}
                    <Time at={delivery.lastAttemptAt} />
                  </>
                )}
                {delivery.durationMs !== null && ` · ${durationText(view, delivery.durationMs)}`}
              </dd>
            </>
          )}
          {next && (
            <>
              <dt>{t("Next attempt")}</dt>
              <dd>{next}</dd>
            </>
          )}
          <dt>{t("Happened")}</dt>
          <dd>
            <Time at={deliveryAndEvent.createdAt} />
          </dd>
          {deliveryAndEvent.chatId !== null && (
            <>
              <dt>{t("Session")}</dt>
              <dd>
                <a href={`/console/sites/${site.id}/sessions/${deliveryAndEvent.chatId}`}>
                  {t("Session {0}", deliveryAndEvent.chatId)}
                </a>
              </dd>
            </>
          )}
          {deliveryAndEvent.eventId !== null && (
            <>
              <dt>webhook-id</dt>
              <dd>
                <code>{deliveryAndEvent.eventId}</code>
              </dd>
            </>
          )}
        </dl>
        {mayBeSent && (
          <div class="buttons">
            <Redeliver
              view={view}
              path={path}
              back={withoutResult(view.here)}
              seq={seq}
              label={isMissed && type !== PING ? t("Send it") : t("Redeliver")}
            />
          </div>
        )}
      </section>
      <Payload view={view} body={body} isKept={deliveryAndEvent.eventId !== null} />
    </>
  );
  const title = t("{0}, event {1}", type ?? t("(not kept any more)"), seq);
  return showPage(c, { title, site, body: shown });
}

/** The result of the last attempt. */
function Outcome({ view, read: { delivery } }: { view: View; read: ReadDelivery }) {
  const { t } = view;
  if (delivery === undefined)
    return (
      <span>
        {t("It was never meant for this webhook: it was disabled, not there yet, or does not want this type.")}
      </span>
    );
  const result = resultWords(view, delivery);
  if (result === undefined) return <span>{delivery.status === "pending" ? t("No answer yet") : ""}</span>;
  const cure = delivery.status === "delivered" ? undefined : cureOf(view, delivery);
  return (
    <div class="why">
      <p>
        <strong>{result.words}</strong>
      </p>
      <QuoteAndCure view={view} quote={result.quote} cure={cure} />
    </div>
  );
}

/** The sent body. Its line breaks are for the reader, and the sent bytes have none. */
function Payload({ view, body, isKept }: { view: View; body: string | null; isKept: boolean }) {
  const { t } = view;
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
