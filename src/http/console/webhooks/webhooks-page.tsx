import { type Site, siteHasEvents } from "../../../services/sites.ts";
import { addWebhook, listWebhooks, TROUBLE_SECONDS, type Webhook } from "../../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import { type Filled, isRefused } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Fold } from "../parts/form.tsx";
import { Badge, NoticeBox } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { secretLocation } from "../secrets/new-secret-page.tsx";
import type { View } from "../view.ts";
import { sentWebhook, WebhookFaults, WebhookForm, webhookValues } from "./webhook-form.tsx";
import { shownUrl } from "./webhook-of.tsx";

/** Answers the form that adds a webhook. */
export async function postWebhooks(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { path } = c.req;
  return formAction(c, form, {
    ...sentWebhook(c.var.view, form),
    page: (again) => webhooksPage(c, site, again),
    list: path,
    work: async (webhook) => {
      const { id, version } = await addWebhook(c.var.ctx, { site, ...webhook });
      return secretLocation(c, `${path}/${id}`, version, true);
    },
  });
}

export async function webhooksPage(c: PageContext, site: Site, again?: Filled): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { ctx } = c.var;
  const path = `/console/sites/${site.id}/webhooks`;
  const [webhooks, hasEvents] = await Promise.all([listWebhooks(ctx, { site }), siteHasEvents(ctx, { site })]);
  const values = again?.values ?? webhookValues("");
  const body = (
    <>
      <WebhookFaults view={view} again={again} />
      {!hasEvents && webhooks.length > 0 && (
        <NoticeBox kind="note" title={t("The events of this site are off: its webhooks get nothing but pings.")}>
          <a href={`/console/sites/${site.id}/settings#events`}>{t("To the settings")}</a>
        </NoticeBox>
      )}
      <Fold view={view} action={path} label={t("Add a webhook")} open={again !== undefined || webhooks.length === 0}>
        <section class="card">
          <p>{t("Accepted calls are posted to it as signed events. What fails is tried again for a day.")}</p>
          <WebhookForm
            view={view}
            action={path}
            values={values}
            errors={again?.errors}
            hint={t("https, a public host name, port 443.")}
            button={t("Add a webhook")}
          />
        </section>
      </Fold>
      <Table
        label="Webhooks"
        head={["URL", t("State"), t("Events")]}
        rows={webhooks.map((webhook) => [
          <a class="clip" href={`${path}/${webhook.id}`}>
            {shownUrl(webhook)}
          </a>,
          <WebhookState view={view} webhook={webhook} />,
          <span class="long">{webhook.events.join(", ")}</span>,
        ])}
        empty={t("No webhooks yet.")}
      />
    </>
  );
  const page = { title: "Webhooks", site: { ...site, tab: "webhooks" as const }, back: path, body };
  return showPage(c, { ...page, filled: again && { path, values } }, isRefused(again) ? 400 : 200);
}

export function WebhookState({ view, webhook }: { view: View; webhook: Webhook }) {
  const { t } = view;
  const { status, disabledReason, failingSince } = webhook;
  if (status === "disabled") {
    return disabledReason === null ? (
      <Badge kind="off" label={t("Disabled")} />
    ) : (
      <Badge kind="bad" label={t("Disabled by the Worker")} />
    );
  }
  if (failingSince === null) return <Badge kind="good" label={t("Enabled")} />;
  const isLong = view.now - failingSince >= TROUBLE_SECONDS;
  return <Badge kind={isLong ? "bad" : "wait"} label={t("Failing since {0}", view.time(failingSince))} />;
}
