import { DELIVERY_STATUSES, listDeliveries } from "../../../services/events.ts";
import type { Site } from "../../../services/sites.ts";
import { changeWebhook } from "../../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import { doneLocation, type Filled, isRefused } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Action, Field, Fold } from "../parts/form.tsx";
import { NoticeBox, Time } from "../parts/parts.tsx";
import { More } from "../parts/table.tsx";
import { PreviousSecret, RotateCard, type ShownSecretOwner } from "../secrets/secret-pages.tsx";
import { statusText } from "../sessions/session-table.tsx";
import type { View } from "../view.ts";
import { DeliveryTable } from "./delivery-table.tsx";
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

export const webhookSecretOf = async (c: PageContext, site: Site): Promise<ShownSecretOwner> => ({
  ...(await webhookOf(c, site)),
  page: (again) => webhookPage(c, site, again),
});

export async function webhookPage(c: PageContext, named: Site, again?: Filled): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { webhook, which, ...owner } = await webhookOf(c, named);
  const { site, path } = owner;
  const isEnabled = webhook.status === "enabled";
  const status = DELIVERY_STATUSES.find((each) => each === c.req.query("status"));
  const deliveries = await listDeliveries(c.var.ctx, { ...which, status, cursor: c.req.query("cursor"), limit: 20 });
  const statuses = DELIVERY_STATUSES.map((each): [string, string] => [each, statusText(view, each)]);
  const rotates = again?.values.overlap_seconds !== undefined;
  const body = (
    <>
      <WebhookFaults view={view} again={again} />
      {!isEnabled && (
        <NoticeBox kind={webhook.disabledReason ? "bad" : "note"} title={disabledText(view, webhook.disabledReason)}>
          <p>{disabledMeans(view)}</p>
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
          <dt>{t("Events")}</dt>
          <dd>{webhook.events.join(", ")}</dd>
          <PreviousSecret view={view} of={webhook} />
          <dt>{t("Created")}</dt>
          <dd>
            <Time view={view} at={webhook.createdAt} />
          </dd>
        </dl>
        <div class="buttons">
          {isEnabled ? (
            <>
              <Action view={view} action={`${path}/ping`} label={t("Send a ping")} />
              <a class="button danger" href={`${path}/disable`}>
                {t("Disable")}…
              </a>
            </>
          ) : (
            <Action view={view} action={`${path}/enable`} label={t("Enable")} />
          )}
          <a class="button danger" href={`${path}/delete`}>
            {t("Delete")}…
          </a>
        </div>
      </section>
      <Fold label={t("Change this webhook")} open={again !== undefined}>
        <div class="two">
          <section class="card">
            <h2>{t("URL and events")}</h2>
            <WebhookForm
              view={view}
              action={path}
              values={again && !rotates ? again.values : webhookValues(webhook.url, webhook.events)}
              errors={again?.errors}
              hint={t("What is pending goes to the new URL.")}
              button={t("Save")}
            />
          </section>
          <RotateCard view={view} owner={owner} again={again} />
        </div>
      </Fold>
      <section class="part">
        <div class="head">
          <h2>{t("Deliveries")}</h2>
          {isEnabled && deliveries.items.some((each) => each.status === "failed") && (
            <Action view={view} action={`${path}/redeliver`} label={t("Redeliver all failed")} />
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
          path={isEnabled ? `${path}/redeliver` : undefined}
        />
        <More view={view} path={path} query={{ status }} cursor={deliveries.nextCursor} />
      </section>
    </>
  );
  const filled = again && { path: rotates ? `${path}/rotate` : path, values: again.values };
  return showPage(
    c,
    { title: shownUrl(webhook).split("/")[2] ?? "", site, back: path, body, filled },
    isRefused(again) ? 400 : 200,
  );
}

function disabledText({ t }: View, reason: string | null): string {
  if (reason === "gone") return t("Disabled: the receiver answered 410.");
  return reason === "failing" ? t("Disabled: nothing but failures for 5 days.") : t("Disabled by an operator.");
}
