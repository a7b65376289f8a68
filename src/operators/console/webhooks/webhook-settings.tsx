import type { Site } from "../../services/sites.ts";
import { changeWebhook } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import { doneLocation, type Filled, isRefused } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { RotateCard } from "../secrets/rotate-card.tsx";
import type { ShownSecretOwner } from "../secrets/secret-owner.ts";
import { UpTo } from "./up-to.tsx";
import { sentWebhook, WebhookFaults, WebhookForm, webhookValues } from "./webhook-form.tsx";
import { hostOf, webhookOf } from "./webhook-of.tsx";

/** The page that changes a webhook: its URL, its events and its secret. */

export async function postWebhook(c: PageContext, site: Site): Promise<Response> {
  const { which, path } = await webhookOf(c, site);
  const form = await readForm(c);
  return formAction(c, form, {
    ...sentWebhook(c.var.view, form),
    page: (again) => settingsPage(c, site, again),
    list: path,
    work: async (change) => {
      await changeWebhook(c.var.ctx, { ...which, change });
      return doneLocation(c, path, "saved");
    },
  });
}

export const webhookSecretOf = async (c: PageContext, site: Site): Promise<ShownSecretOwner> => ({
  ...(await webhookOf(c, site)),
  page: (again) => settingsPage(c, site, again),
});

export async function settingsPage(c: PageContext, named: Site, again?: Filled): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { webhook, which: _, ...owner } = await webhookOf(c, named);
  const { site, path } = owner;
  const rotates = again?.values.overlap_seconds !== undefined;
  const body = (
    <>
      <UpTo href={path} name={hostOf(webhook)} />
      <WebhookFaults view={view} again={again} />
      <div class="two">
        <section class="card">
          <h2>{t("URL and events")}</h2>
          <WebhookForm
            view={view}
            action={path}
            values={again && !rotates ? again.values : webhookValues(webhook.url, webhook.events)}
            errors={again?.errors}
            hint={t("What is pending goes to the new URL at once.")}
            button={t("Save")}
          />
        </section>
        <RotateCard view={view} owner={owner} again={again} />
      </div>
    </>
  );
  const filled = again && { path: rotates ? `${path}/rotate` : path, values: again.values };
  const title = t("Change this webhook");
  return showPage(c, { title, site, back: `${path}/settings`, body, filled }, isRefused(again) ? 400 : 200);
}
