import type { Site } from "../../services/sites.ts";
import { changeWebhook } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { RotateCard } from "../secrets/rotate-card.tsx";
import type { ShownSecretOwner } from "../secrets/secret-owner.ts";
import { UpLink } from "./up-link.tsx";
import { sentWebhook, WebhookForm, WebhookFormErrors, webhookValues } from "./webhook-form.tsx";
import { hostOf, webhookOf } from "./webhook-of.tsx";

/** The page that changes a webhook: its URL, its events and its secret. */

export async function postWebhook(c: PageContext, site: Site): Promise<Response> {
  const { webhookOfPath, path } = await webhookOf(c, site);
  const form = await readForm(c);
  return formAction(c, form, {
    ...sentWebhook(c.var.view, form),
    page: (filledForm) => settingsPage(c, site, filledForm),
    list: path,
    work: async (change) => {
      await changeWebhook(c.var.ctx, { ...webhookOfPath, change });
      return doneLocation(c, path, "saved");
    },
  });
}

export const webhookSecretOf = async (c: PageContext, site: Site): Promise<ShownSecretOwner> => ({
  ...(await webhookOf(c, site)),
  page: (filledForm) => settingsPage(c, site, filledForm),
});

export async function settingsPage(c: PageContext, siteOfPath: Site, filledForm?: FilledForm): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { webhook, webhookOfPath: _, ...owner } = await webhookOf(c, siteOfPath);
  const { site, path } = owner;
  const rotates = filledForm?.values.overlap_seconds !== undefined;
  const body = (
    <>
      <UpLink href={path} name={hostOf(webhook)} />
      <WebhookFormErrors view={view} filledForm={filledForm} />
      <div class="two">
        <section class="card">
          <h2>{t("URL and events")}</h2>
          <WebhookForm
            view={view}
            action={path}
            values={filledForm && !rotates ? filledForm.values : webhookValues(webhook.url, webhook.events)}
            errors={filledForm?.errors}
            hint={t("What is pending goes to the new URL at once.")}
            button={t("Save")}
          />
        </section>
        <RotateCard view={view} owner={owner} filledForm={filledForm} />
      </div>
    </>
  );
  const title = t("Change this webhook");
  return showPage(c, { title, site, back: `${path}/settings`, body, filled: filledForm });
}
