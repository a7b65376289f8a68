import { fieldIssues, isVisible } from "../../../fields.ts";
import { issueApp, issueAppSchema } from "../../../services/issue-app.ts";
import { listAppsOfSite } from "../../../services/list-apps.ts";
import { findApp } from "../../../store/directory/apps.ts";
import { appidCursor } from "../../admin/read-input.ts";
import type { RequestContext } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { deskOf, siteOf } from "../../operator.ts";
import { show } from "../layout.tsx";
import { doneNotice, type Filled, filled, isRefused } from "../messages.ts";
import { isDraft, once } from "../once.ts";
import { Faults, Field, Fold, Form, More, Notice, Table, Time } from "../parts.tsx";
import { readForm } from "../read-form.ts";
import type { View } from "../view.ts";
import { AppState } from "./app-state.tsx";
import { secretLocation } from "./secret-page.tsx";

type AppItem = Awaited<ReturnType<typeof listAppsOfSite>>["items"][number];

export function appsPages(routes: Routes): void {
  routes.get("/sites/:site_id/apps", (c) => appsPage(c));

  routes.post("/sites/:site_id/apps", async (c) => {
    const v = c.var.view;
    const { config, site } = await siteOf(c);
    const form = await readForm(c);
    const { name = "", appid = "", secret = "" } = form;
    // A secret is never put back into a form.
    const kept = { name, appid };
    const taken = { values: kept, errors: { appid: v.t("This appid is taken.") } };
    const input = issueAppSchema.safeParse({ name, ...(appid && { appid }), ...(secret && { secret }) });
    if (!input.success) return appsPage(c, filled(v, kept, fieldIssues(input.error)));
    if (await isDraft(c, form)) {
      const known = appid !== "" && (await findApp(c.var.isolate.runtime, config.directory, appid)) !== null;
      return appsPage(c, known ? taken : { values: kept, errors: {} });
    }
    return once(c, form, `/console/sites/${site.id}/apps`, async () => {
      const app = await issueApp(deskOf(c, "console"), site.id, input.data);
      return app === undefined ? appsPage(c, taken) : secretLocation(c, site.id, app);
    });
  });
}

export function AppTable({ v, siteId, apps }: { v: View; siteId: number; apps: AppItem[] }) {
  const { t } = v;
  return (
    <Table
      label={t("Apps")}
      head={[t("Name"), "appid", t("State"), t("Issued")]}
      rows={apps.map((app) => [
        <a href={`/console/sites/${siteId}/apps/${app.appid}`}>
          <bdi>{isVisible(app.name) ? app.name : `(${app.appid})`}</bdi>
        </a>,
        <code>{app.appid}</code>,
        <AppState v={v} revokedAt={app.revoked_at} previousExpiresAt={app.previous_expires_at} />,
        <Time v={v} at={app.created_at} />,
      ])}
      empty={t("No apps yet. Issue one to get an appid and a secret.")}
    />
  );
}

async function appsPage(c: RequestContext, again?: Filled): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const { config, site } = await siteOf(c);
  const path = `/console/sites/${site.id}/apps`;
  const apps = await listAppsOfSite(config.directory, site.id, appidCursor(c.req.query("cursor")), 50);
  const { values = {}, errors = {} } = again ?? {};
  const bringing = Boolean(values.appid || errors.appid || errors.secret);
  const done = await doneNotice(c);
  const body = (
    <>
      {done && <Notice {...done} />}
      <Faults v={v} filled={again} labels={{ name: t("Name"), secret: t("Secret") }} />
      <Fold label={t("Issue an app")} open={again !== undefined || apps.items.length === 0}>
        <section class="card">
          <Form v={v} action={path}>
            <Field
              label={t("Name")}
              name="name"
              value={values.name}
              error={errors.name}
              hint={t("What will use it: “Shop back end”, say.")}
              required
              maxlength={100}
            />
            <details open={bringing}>
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
      <AppTable v={v} siteId={site.id} apps={apps.items} />
      <More v={v} path={path} cursor={apps.next_cursor} />
    </>
  );
  const page = { title: t("Apps"), site: { ...site, tab: "apps" as const }, back: path, body };
  return show(c, { ...page, filled: again && { path, values } }, isRefused(again) ? 400 : 200);
}
