import { isRefusedFor } from "../../../errors.ts";
import { fieldIssues } from "../../../fields.ts";
import { checkAppid, issueApp, issueAppSchema, listApps } from "../../../services/apps.ts";
import { siteOf } from "../../operator/context.ts";
import type { ConsoleRoutes, PageContext } from "../env.ts";
import { type Filled, filled, isRefused } from "../forms/messages.ts";
import { isDraft, once } from "../forms/once.ts";
import { readForm } from "../forms/read-form.ts";
import { show } from "../layout.tsx";
import { Faults, Field, Fold, Form } from "../parts/form.tsx";
import { More } from "../parts/table.tsx";
import { secretLocation } from "../secrets/secret-pages.tsx";
import { AppTable } from "./app-table.tsx";

export function appsPages(routes: ConsoleRoutes): void {
  routes.get("/sites/:site_id/apps", (c) => appsPage(c));

  routes.post("/sites/:site_id/apps", async (c) => {
    const view = c.var.view;
    const { ctx } = c.var;
    const site = await siteOf(c);
    const form = await readForm(c);
    const { name = "", appid = "", secret = "" } = form;
    // A form that is shown again must not hold the secret.
    const kept = { name, appid };
    const sayTaken = (error: unknown) => {
      if (!isRefusedFor(error, "appid_taken")) throw error;
      return appsPage(c, { values: kept, errors: { appid: view.t("This appid is taken.") } });
    };
    const input = issueAppSchema.safeParse({ name, ...(appid && { appid }), ...(secret && { secret }) });
    if (!input.success) return appsPage(c, filled(view, kept, fieldIssues(input.error)));
    if (await isDraft(c, form)) {
      try {
        if (appid !== "") await checkAppid(ctx, { site, appid });
      } catch (error) {
        return sayTaken(error);
      }
      return appsPage(c, { values: kept, errors: {} });
    }
    const path = `/console/sites/${site.id}/apps`;
    return once(c, form, path, async () => {
      try {
        const { appid, version } = await issueApp(ctx, { site, ...input.data });
        return await secretLocation(c, `${path}/${appid}`, version);
      } catch (error) {
        return sayTaken(error);
      }
    });
  });
}

async function appsPage(c: PageContext, again?: Filled): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const site = await siteOf(c);
  const path = `/console/sites/${site.id}/apps`;
  const apps = await listApps(c.var.ctx, { site, cursor: c.req.query("cursor"), limit: 50 });
  const { values = {}, errors = {} } = again ?? {};
  const imports = Boolean(values.appid || errors.appid || errors.secret);
  const body = (
    <>
      <Faults view={view} filled={again} labels={{ name: t("Name"), secret: t("Secret") }} />
      <Fold label={t("Issue an app")} open={again !== undefined || apps.items.length === 0}>
        <section class="card">
          <Form view={view} action={path}>
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
      <AppTable view={view} siteId={site.id} apps={apps.items} />
      <More view={view} path={path} cursor={apps.nextCursor} />
    </>
  );
  const page = { title: t("Apps"), site: { ...site, tab: "apps" as const }, back: path, body };
  return show(c, { ...page, filled: again && { path, values } }, isRefused(again) ? 400 : 200);
}
