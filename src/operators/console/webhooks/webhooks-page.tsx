import { type RecentDeliveries, recentDeliveries } from "../../services/deliveries.ts";
import { type Site, siteHasEvents } from "../../services/sites.ts";
import { addWebhook, EVENT_TYPES, listWebhooks, type Webhook } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Fold } from "../parts/form.tsx";
import { Ago, EmptyState, NoticeBox } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { secretLocation } from "../secrets/new-secret-page.tsx";
import type { View } from "../view.ts";
import { countText, shareText, triedText } from "./delivered-share.tsx";
import { resultWords } from "./failure-words.ts";
import { sentWebhook, WebhookForm, WebhookFormErrors, webhookValues } from "./webhook-form.tsx";
import { hostOf, pathOf } from "./webhook-of.tsx";
import { WebhookState, worstFirst } from "./webhook-state.tsx";

export async function postWebhooks(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { path } = c.req;
  return formAction(c, form, {
    ...sentWebhook(c.var.view, form),
    page: (filledForm) => webhooksPage(c, site, filledForm),
    list: path,
    work: async (webhook) => {
      const { id, version } = await addWebhook(c.var.ctx, { site, ...webhook });
      return secretLocation(c, `${path}/${id}`, version, true);
    },
  });
}

export async function webhooksPage(c: PageContext, site: Site, filledForm?: FilledForm): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { ctx } = c.var;
  const path = `/console/sites/${site.id}/webhooks`;
  const [all, hasEvents] = await Promise.all([listWebhooks(ctx, { site }), siteHasEvents(ctx, { site })]);
  const webhooks = worstFirst(view, all);
  const recentByWebhook = await recentDeliveries(ctx, { site, webhooks });
  const values = filledForm?.values ?? webhookValues("");
  const body = (
    <>
      <WebhookFormErrors view={view} filledForm={filledForm} />
      <Fold action={path} label={t("Add a webhook")} open={filledForm !== undefined || webhooks.length === 0}>
        <section class="card">
          <p>{t("Accepted calls are posted to it as signed events. What fails is tried again for a day.")}</p>
          <WebhookForm
            view={view}
            action={path}
            values={values}
            errors={filledForm?.errors}
            hint={t("https, a public host name, port 443.")}
            button={t("Add a webhook")}
          />
        </section>
      </Fold>
      {!hasEvents && webhooks.length > 0 && (
        <NoticeBox kind="note" title={t("The events of this site are off: its webhooks get nothing but pings.")}>
          <a href={`/console/sites/${site.id}/settings#events`}>{t("To the settings")}</a>
        </NoticeBox>
      )}
      <Table
        label={t("Webhooks")}
        head={[
          "URL",
          { label: t("State"), phone: "top" },
          t("Last failure"),
          { label: t("Delivered in 24 h"), phone: "hide", end: true },
          { label: t("Pending"), end: true },
          { label: t("Events"), phone: "hide" },
        ]}
        rows={webhooks.map((webhook, i) => rowOf(view, path, webhook, recentByWebhook[i]))}
        empty={
          <EmptyState title={t("No webhooks yet.")}>
            <p>{t("A webhook tells a program of yours of each session that is opened, gets agents or is erased.")}</p>
          </EmptyState>
        }
      />
    </>
  );
  const page = { title: t("Webhooks"), site: { ...site, tab: "webhooks" as const }, back: path, body };
  return showPage(c, { ...page, filled: filledForm });
}

function rowOf(view: View, path: string, webhook: Webhook, recent: RecentDeliveries | undefined) {
  const { t } = view;
  const { pending, oldestPendingAt } = webhook;
  const failure = recent?.failure ?? (hasFailed(webhook) ? { ...webhook, at: webhook.lastFailedAt } : undefined);
  return [
    <span class="host">
      <a href={`${path}/${webhook.id}`}>{hostOf(webhook)}</a>
      <small>{pathOf(webhook)}</small>
    </span>,
    <WebhookState view={view} webhook={webhook} />,
    failure === undefined ? (
      <span class="off-phone">–</span>
    ) : (
      <span class="pair">
        <span>{resultWords(view, failure)?.words}</span>
        {failure.at !== null && (
          <small class="off-phone">
            <Ago at={failure.at} />
          </small>
        )}
      </span>
    ),
    recent && (
      <span class="pair">
        {shareText(view, recent)}
        <small>{triedText(view, recent)}</small>
      </span>
    ),
    pending === 0 ? (
      <span class="off-phone">0</span>
    ) : (
      <span class="pair">
        <span>
          {countText(view, pending)}
          <span class="on-phone"> {t("pending")}</span>
        </span>
        {oldestPendingAt !== null && (
          <small class="off-phone">
            {t("oldest")} <Ago at={oldestPendingAt} />
          </small>
        )}
      </span>
    ),
    <Types view={view} types={webhook.events} />,
  ];
}

const hasFailed = ({ lastStatus, lastCause }: Webhook) => lastStatus !== null || lastCause !== null;

/** How many types of events a webhook gets. A click shows the types. */
function Types({ view, types }: { view: View; types: string[] }) {
  const areAllTypes = EVENT_TYPES.filter((each) => types.includes(each)).length === EVENT_TYPES.length;
  return (
    <details class="types">
      <summary>{areAllTypes ? view.t("All") : view.t("{0} of {1}", types.length, EVENT_TYPES.length)}</summary>
      <ul>
        {types.map((type) => (
          <li>
            <code>{type}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
