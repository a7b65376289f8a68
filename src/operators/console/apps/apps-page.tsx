import { isRefusedFor } from "../../../core/errors.ts";
import { checkAppid, issueApp, issueAppSchema, listApps } from "../../services/apps.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Field, Fold, Form, FormErrors } from "../parts/form.tsx";
import { MoreLink } from "../parts/table.tsx";
import { secretLocation } from "../secrets/new-secret-page.tsx";
import { AppTable } from "./app-table.tsx";
import { readLastUses } from "./last-use.tsx";

export async function postApp(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { name = "", appid = "", secret = "" } = form;
  const { ctx, view } = c.var;
  const path = `/console/sites/${site.id}/apps`;
  const input = { name, ...(appid && { appid }), ...(secret && { secret }) };
  return formAction(c, form, {
    values: { name, appid },
    entered: enteredFields(view, issueAppSchema.safeParse(input)),
    page: (filledForm) => appsPage(c, site, filledForm),
    look: async () => appid !== "" && checkAppid(ctx, { site, appid }),
    refused: (error) => (isRefusedFor(error, "appid_taken") ? { appid: view.t("This appid is taken.") } : undefined),
    list: path,
    work: async (app) => {
      const { appid, version } = await issueApp(ctx, { site, ...app });
      return secretLocation(c, `${path}/${appid}`, version, true);
    },
  });
}

export async function appsPage(c: PageContext, site: Site, filledForm?: FilledForm): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const path = `/console/sites/${site.id}/apps`;
  const [apps, uses] = await Promise.all([
    listApps(c.var.ctx, { site, cursor: c.req.query("cursor"), limit: 50 }),
    readLastUses(c, site),
  ]);
  const { values = {}, errors = {} } = filledForm ?? {};
  const imports = Boolean(values.appid || errors.appid || errors.secret);
  const body = (
    <>
      <FormErrors filled={filledForm} fields={{ name: t("Name"), secret: t("Secret") }} />
      <Fold action={path} label={t("Issue an app")} open={filledForm !== undefined || apps.items.length === 0}>
        <section class="card">
          <Form action={path}>
            <Field
              label={t("Name")}
              name="name"
              value={values.name}
              error={errors.name}
              hint={t("What will use it: “Shop back end”, say.")}
              required
              maxlength={100}
            />
            <details open={imports}>
              <summary>{t("Use an existing appid or secret")}</summary>
              <p>
                {t("For callers of another service that keep what they have. Whatever is left empty is made here.")}
              </p>
              <Field label="appid" name="appid" value={values.appid} error={errors.appid} maxlength={64} code />
              <Field
                label={t("Secret")}
                name="secret"
                type="password"
                error={errors.secret}
                autocomplete="new-password"
                maxlength={256}
                code
              />
            </details>
            <button type="submit">{t("Issue app")}</button>
          </Form>
        </section>
      </Fold>
      <AppTable view={view} siteId={site.id} apps={apps.items} uses={uses} />
      <MoreLink path={path} cursor={apps.nextCursor} />
    </>
  );
  const page = { title: t("Apps"), site: { ...site, tab: "apps" as const }, back: path, body };
  return showPage(c, { ...page, filled: filledForm });
}
