import { recentDeliveries } from "../../services/deliveries.ts";
import { type Site, siteHasEvents } from "../../services/sites.ts";
import { addWebhook, changeWebhook, EVENT_TYPES, listWebhooks, newWebhookSchema } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { type Fields, FieldsForm, Fold, FormErrors } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Ago, EmptyState, NoticeBox } from "../parts/parts.tsx";
import { RotateCard, rotationFields, type ShownSecretOwner, secretLocation } from "../secrets/rotate-secret.tsx";
import type { View } from "../view.ts";
import { PairOf, pendingOf, resultWords, shareOf, WebhookState, worstFirst } from "./webhook-health.tsx";
import { hostOf, nameAmong, pathOf, UpLink, webhookOf } from "./webhook-of.tsx";

/** Answers a form with the URL and the events of a webhook. */
async function answerForm(
  c: PageContext,
  site: Site,
  page: typeof webhooksPage,
  work: (webhook: { url: string; events?: string[] | undefined }) => Promise<string>,
): Promise<Response> {
  const { form } = c.var;
  const { url = "" } = form;
  const events = EVENT_TYPES.filter((type) => form[type]);
  return formAction(c, {
    values: { url, ...Object.fromEntries(EVENT_TYPES.map((type) => [type, form[type] ?? ""])) },
    entered: enteredFields(c.var.view, newWebhookSchema.safeParse({ url, events })),
    page: (filledForm) => page(c, site, filledForm),
    list: c.req.path,
    work,
  });
}

export const postWebhooks = (c: PageContext, site: Site): Promise<Response> =>
  answerForm(c, site, webhooksPage, async (webhook) => {
    const { id, version } = await addWebhook(c.var.ctx, { site, ...webhook });
    return secretLocation(c, `${c.req.path}/${id}`, version, true);
  });

export async function postWebhook(c: PageContext, site: Site): Promise<Response> {
  const { webhookOfPath, path } = await webhookOf(c, site);
  return answerForm(c, site, webhookSettingsPage, async (change) => {
    await changeWebhook(c.var.ctx, { ...webhookOfPath, change });
    return doneLocation(c, path, "saved");
  });
}

/** Types of events that inform a webhook about the other webhooks of its site. */
const ABOUT_OTHERS = EVENT_TYPES.filter((type) => type.startsWith("webhook."));

const fieldsOf = ({ t }: View, urlHint: string, events: readonly string[], url?: string): Fields => ({
  url: { label: "URL", type: "url", value: url, hint: urlHint, required: true, maxlength: 2048, code: true },
  events: {
    label: t("Events"),
    hint: ABOUT_OTHERS.length > 0 && t("{0} tell about the site's other webhooks.", ABOUT_OTHERS.join(t(", "))),
    fields: Object.fromEntries(
      EVENT_TYPES.map((type) => [type, { label: type, type: "checkbox", value: events.includes(type) ? "on" : "" }]),
    ),
  },
});

export async function webhooksPage(c: PageContext, site: Site, filled?: FilledForm): Promise<Response> {
  const { ctx, view, t } = c.var;
  const path = `/console/sites/${site.id}/webhooks`;
  const [all, hasEvents] = await Promise.all([listWebhooks(ctx, { site }), siteHasEvents(ctx, { site })]);
  const webhooks = worstFirst(view, all);
  const recentByWebhook = await recentDeliveries(ctx, { site, webhooks });
  const fields = fieldsOf(view, t("https, a public host name, port 443."), EVENT_TYPES);
  const body = (
    <>
      <FormErrors filled={filled} fields={fields} />
      {!hasEvents && webhooks.length > 0 && (
        <NoticeBox kind="note" title={t("The events of this site are off: its webhooks get nothing but pings.")}>
          <a href={`/console/sites/${site.id}/settings#events`}>{t("To the settings")}</a>
        </NoticeBox>
      )}
      <List
        path={path}
        label={t("Webhooks")}
        add={
          <Fold action={path} label={t("Add a webhook")} open={filled !== undefined || webhooks.length === 0}>
            <section class="card">
              <p>{t("Accepted calls are posted to it as signed events. What fails is tried again for a day.")}</p>
              <FieldsForm action={path} fields={fields} filled={filled} button={t("Add a webhook")} />
            </section>
          </Fold>
        }
        head={[
          "URL",
          { label: t("Status"), phone: "top" },
          t("Last failure"),
          { label: t("Delivered in 24 h"), phone: "hide", end: true },
          { label: t("Pending"), end: true },
          { label: t("Events"), phone: "hide" },
        ]}
        rows={webhooks.map((webhook, i) => {
          const recent = recentByWebhook[i];
          const host = hostOf(webhook);
          const more = nameAmong(all, webhook).slice(host.length);
          const { events, lastFailedAt } = webhook;
          const { at, ...failure } = recent?.failure ?? { ...webhook, at: lastFailedAt };
          return [
            <span class="host">
              <a href={`${path}/${webhook.id}`}>
                {host}
                {more && <span>{more}</span>}
              </a>
              {!more && <small>{pathOf(webhook)}</small>}
            </span>,
            <WebhookState webhook={webhook} />,
            <PairOf pair={[resultWords(view, failure)?.words ?? "–", at !== null && <Ago at={at} />]} />,
            recent && <PairOf pair={shareOf(view, recent)} />,
            <PairOf pair={pendingOf(view, webhook)} />,
            <details class="types">
              <summary>
                {events.length < EVENT_TYPES.length ? t("{0} of {1}", events.length, EVENT_TYPES.length) : t("All")}
              </summary>
              <small>{events.join(", ")}</small>
            </details>,
          ];
        })}
        empty={
          <EmptyState title={t("No webhooks yet.")}>
            <p>{t("A webhook tells a program of yours of each session that is opened, gets agents or is erased.")}</p>
          </EmptyState>
        }
        cursor={null}
      />
    </>
  );
  return showPage(c, { title: t("Webhooks"), site: { ...site, tab: "webhooks" }, body, filled });
}

export const webhookSecretOf = async (c: PageContext, site: Site): Promise<ShownSecretOwner> => ({
  ...(await webhookOf(c, site)),
  page: (filledForm) => webhookSettingsPage(c, site, filledForm),
});

/** The page that changes a webhook: its URL, its events and its secret. */
export async function webhookSettingsPage(c: PageContext, siteOfPath: Site, filled?: FilledForm): Promise<Response> {
  const { view, t } = c.var;
  const { webhook, site, path, name, ...owner } = await webhookOf(c, siteOfPath);
  const fields = fieldsOf(view, t("What is pending goes to the new URL at once."), webhook.events, webhook.url);
  const isRotation = filled?.values.overlap_seconds !== undefined;
  const body = (
    <>
      <UpLink path={path} name={name} />
      <FormErrors filled={filled} fields={{ ...fields, ...rotationFields(view) }} />
      <div class="two">
        <section class="card">
          <h2>{t("URL and events")}</h2>
          <FieldsForm action={path} fields={fields} filled={isRotation ? undefined : filled} button={t("Save")} />
        </section>
        <RotateCard owner={{ ...owner, site, path }} filledForm={filled} />
      </div>
    </>
  );
  return showPage(c, { title: t("Change this webhook"), site, body, filled });
}
