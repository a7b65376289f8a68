import { isRefusedFor } from "../../../errors.ts";
import { DELIVERY_STATUSES, listDeliveries } from "../../../services/events.ts";
import type { Site } from "../../../services/sites.ts";
import { changeWebhook, MOST_COUNTED, type Webhook } from "../../../services/webhooks.ts";
import { withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import { doneLocation, isRefused } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Action, AskLink, Faults, Field, Fold } from "../parts/form.tsx";
import { NoticeBox, Time } from "../parts/parts.tsx";
import { More } from "../parts/table.tsx";
import { PreviousSecret } from "../secrets/previous-secret.tsx";
import { RotateCard } from "../secrets/rotate-card.tsx";
import type { ShownSecretOwner } from "../secrets/secret-owner.ts";
import { statusText } from "../sessions/session-table.tsx";
import type { View } from "../view.ts";
import { answerText, DeliveryTable } from "./delivery-table.tsx";
import {
  type Counted,
  CountNotice,
  goSteps,
  refusedAgain,
  SendAgainForm,
  sendAgainLabels,
  sendAgainValues,
  sentAgain,
  sentLocation,
  sentNotice,
  type Wanted,
} from "./send-again.tsx";
import { sentWebhook, WebhookFaults, WebhookForm, webhookValues } from "./webhook-form.tsx";
import { disabledMeans, shownUrl, webhookOf } from "./webhook-of.tsx";
import { WebhookState } from "./webhooks-page.tsx";

/** Answers the form that changes a webhook. */
export async function postWebhook(c: PageContext, site: Site): Promise<Response> {
  const { which, path } = await webhookOf(c, site);
  const form = await readForm(c);
  return formAction(c, form, {
    ...sentWebhook(c.var.view, form),
    page: (again) => webhookPage(c, site, again),
    list: path,
    work: async (change) => {
      await changeWebhook(c.var.ctx, { ...which, change });
      return doneLocation(c, path, "saved");
    },
  });
}

/** Answers the form that sends events again, and its button that counts them first. */
export async function postSendAgain(c: PageContext, site: Site): Promise<Response> {
  const { which, path } = await webhookOf(c, site);
  const { view } = c.var;
  const form = await readForm(c);
  const sent = sentAgain(view, form);
  const page = (again: Counted) => webhookPage(c, site, again);
  // The webhook's page tells that it is disabled, and why.
  const orPage =
    <T,>(otherwise: T) =>
    (error: unknown) => {
      if (isRefusedFor(error, "webhook_disabled")) return otherwise;
      throw error;
    };
  const count = async (wanted: Wanted) =>
    page({ values: sent.values, errors: {}, counted: await goSteps(c, which, wanted, true) });
  const send = async (wanted: Wanted) => sentLocation(c, path, wanted, await goSteps(c, which, wanted, false));
  return formAction(c, form, {
    ...sent,
    page,
    list: path,
    refused: (error) => refusedAgain(view, error),
    ask: form.count === undefined ? undefined : (wanted) => count(wanted).catch(orPage(c.redirect(path, 303))),
    work: (wanted) => send(wanted).catch(orPage(path)),
  });
}

/** An operator who sends the address of a refused form again comes here. */
export const sendAgainPage = async (c: PageContext, site: Site): Promise<Response> =>
  c.redirect((await webhookOf(c, site)).path, 303);

export const webhookSecretOf = async (c: PageContext, site: Site): Promise<ShownSecretOwner> => ({
  ...(await webhookOf(c, site)),
  page: (again) => webhookPage(c, site, again),
});

export async function webhookPage(c: PageContext, named: Site, again?: Counted): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { webhook, which, ...owner } = await webhookOf(c, named);
  const { site, path } = owner;
  const isEnabled = webhook.status === "enabled";
  const status = DELIVERY_STATUSES.find((each) => each === c.req.query("status"));
  const deliveries = await listDeliveries(c.var.ctx, { ...which, status, cursor: c.req.query("cursor"), limit: 20 });
  const statuses = DELIVERY_STATUSES.map((each): [string, string] => [each, statusText(view, each)]);
  const rotates = again?.values.overlap_seconds !== undefined;
  const sendsAgain = again?.values.since !== undefined;
  const counted = again?.counted;
  const body = (
    <>
      {await sentNotice(c, path)}
      {counted && <CountNotice view={view} counted={counted} />}
      {sendsAgain && !counted && <Faults view={view} filled={again} labels={sendAgainLabels(view)} />}
      {!sendsAgain && <WebhookFaults view={view} again={again} />}
      {!isEnabled && (
        <NoticeBox kind={webhook.disabledReason ? "bad" : "note"} title={disabledText(view, webhook.disabledReason)}>
          <p>{disabledMeans(view)}</p>
          {webhook.pending > 0 && (
            <p>{t("What was pending then is still being ended. It can be enabled in a few minutes.")}</p>
          )}
        </NoticeBox>
      )}
      <section class="card">
        <dl class="facts">
          {owner.facts}
          <dt>ID</dt>
          <dd>
            <code>{webhook.id}</code>
          </dd>
          <dt>{t("State")}</dt>
          <dd>
            <WebhookState view={view} webhook={webhook} />
          </dd>
          <Health view={view} webhook={webhook} />
          <dt>{t("Events")}</dt>
          <dd>{webhook.events.join(", ")}</dd>
          <PreviousSecret view={view} of={owner} stop />
          <dt>{t("Created")}</dt>
          <dd>
            <Time view={view} at={webhook.createdAt} />
          </dd>
        </dl>
        <div class="buttons">
          {isEnabled ? (
            <>
              <Action view={view} action={`${path}/ping`} label={t("Send a ping")} />
              <AskLink view={view} href={`${path}/disable`}>
                {t("Disable")}…
              </AskLink>
            </>
          ) : (
            <Action view={view} action={`${path}/enable`} label={t("Enable")} />
          )}
          <AskLink view={view} href={`${path}/delete`}>
            {t("Delete")}…
          </AskLink>
        </div>
        {isEnabled && view.may(`${path}/ping`) && (
          <p class="hint">
            {t("A ping goes before everything that is pending, also to a receiver that hangs, and is tried once.")}
          </p>
        )}
      </section>
      <Fold view={view} action={path} label={t("Change this webhook")} open={again !== undefined && !sendsAgain}>
        <div class="two">
          <section class="card">
            <h2>{t("URL and events")}</h2>
            <WebhookForm
              view={view}
              action={path}
              values={again && !rotates && !sendsAgain ? again.values : webhookValues(webhook.url, webhook.events)}
              errors={again?.errors}
              hint={t("What is pending goes to the new URL at once.")}
              button={t("Save")}
            />
          </section>
          <RotateCard view={view} owner={owner} again={again} />
        </div>
      </Fold>
      {isEnabled && (
        <Fold view={view} action={`${path}/send-again`} label={t("Send events again")} open={sendsAgain}>
          <SendAgainForm
            view={view}
            path={path}
            values={again && sendsAgain ? again.values : sendAgainValues()}
            errors={again?.errors}
          />
        </Fold>
      )}
      <section class="part">
        <div class="head">
          <h2>{t("Deliveries")}</h2>
          {isEnabled && webhook.failed > 0 && (
            <Action
              view={view}
              action={`${path}/send-again`}
              label={t("Redeliver all failed ({0})", countText(view, webhook.failed))}
            >
              <input type="hidden" name="failed" value="on" />
            </Action>
          )}
        </div>
        <search>
          <form method="get" action={path} class="filter">
            <Field label={t("Status")} name="status" value={status} options={[["", t("Any")], ...statuses]} />
            <button type="submit">{t("Find")}</button>
          </form>
        </search>
        <DeliveryTable
          view={view}
          siteId={site.id}
          deliveries={deliveries.items}
          path={`${path}/redeliver`}
          isEnabled={isEnabled}
          back={c.req.method === "POST" ? path : withParameter(withParameter(view.here, "done"), "sent")}
        />
        <More view={view} path={path} query={{ status }} cursor={deliveries.nextCursor} />
      </section>
    </>
  );
  const form = rotates ? `${path}/rotate` : sendsAgain ? `${path}/send-again` : path;
  const filled = again && { path: form, values: again.values };
  return showPage(
    c,
    { title: shownUrl(webhook).split("/")[2] ?? "", site, back: path, body, filled },
    isRefused(again) ? 400 : 200,
  );
}

function disabledText({ t }: View, reason: string | null): string {
  if (reason === "gone") return t("Disabled by the Worker: the receiver answered 410.");
  return reason === "failing"
    ? t("Disabled by the Worker: nothing but failures for 5 days.")
    : t("Disabled by an operator.");
}

/** What tells how a webhook does: the answer that its trouble began with, and how much waits or failed. */
function Health({ view, webhook }: { view: View; webhook: Webhook }) {
  const { t } = view;
  const { disabledAt, lastStatus, lastError, pending, failed, oldestPendingAt } = webhook;
  return (
    <>
      {disabledAt !== null && (
        <>
          <dt>{t("Disabled on")}</dt>
          <dd>
            <Time view={view} at={disabledAt} />
          </dd>
        </>
      )}
      {(lastStatus !== null || lastError !== null) && (
        <>
          <dt>{t("Last failure")}</dt>
          <dd>
            <bdi>{answerText(view, webhook)}</bdi>
          </dd>
        </>
      )}
      <dt>{t("Pending deliveries")}</dt>
      <dd>
        {countText(view, pending)}
        {oldestPendingAt !== null && (
          <>
            {" · "}
            {t("the oldest since")} <Time view={view} at={oldestPendingAt} />
          </>
        )}
      </dd>
      <dt>{t("Failed deliveries")}</dt>
      <dd>{countText(view, failed)}</dd>
    </>
  );
}

/** Counting stops at MOST_COUNTED: the real number may be larger. */
function countText({ t, language }: View, count: number): string {
  const number = new Intl.NumberFormat(language).format(count);
  return count < MOST_COUNTED ? number : t("{0} or more", number);
}
