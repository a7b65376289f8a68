import { issueApp, issueAppSchema } from "../../../credentials/issue-app.ts";
import { listAppsOfSite } from "../../../directory/list-apps-of-site.ts";
import { fieldIssues } from "../../../fields.ts";
import type { RequestContext } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { deskOf, siteOf } from "../../operator.ts";
import { appidCursor } from "../../read-input.ts";
import { show } from "../layout.tsx";
import { type Filled, filled, UNFILLED } from "../messages.ts";
import { Field, More, Table, Time } from "../parts.tsx";
import { readForm } from "../read-form.ts";
import type { View } from "../view.ts";
import { AppState } from "./app-state.tsx";
import { secretPage } from "./secret-page.tsx";

type AppItem = Awaited<ReturnType<typeof listAppsOfSite>>["items"][number];

export function appsPages(routes: Routes): void {
  routes.get("/sites/:site_id/apps", (c) => appsPage(c, UNFILLED));

  routes.post("/sites/:site_id/apps", async (c) => {
    const v = c.var.view;
    const { site } = await siteOf(c);
    const { name = "", appid = "", secret = "" } = await readForm(c);
    // A secret is never put back into a form.
    const kept = { name, appid };
    const input = issueAppSchema.safeParse({ name, ...(appid && { appid }), ...(secret && { secret }) });
    if (!input.success) return appsPage(c, filled(v, kept, fieldIssues(input.error)));
    const app = await issueApp(deskOf(c, "console"), site.id, input.data);
    if (app === undefined) {
      return appsPage(c, { values: kept, errors: { appid: v.t("This appid is taken.") } });
    }
    const title = v.t("The app was issued");
    return secretPage(c, site, { title, appid: app.appid, secret: app.secret });
  });
}

export function AppTable({ v, siteId, apps }: { v: View; siteId: number; apps: AppItem[] }) {
  const { t } = v;
  return (
    <Table
      label={t("Apps")}
      head={[t("Name"), "appid", t("State"), t("Issued")]}
      rows={apps.map((app) => [
        <a href={`/console/sites/${siteId}/apps/${app.appid}`}>{app.name}</a>,
        <code>{app.appid}</code>,
        <AppState v={v} revokedAt={app.revoked_at} previousExpiresAt={app.previous_expires_at} />,
        <Time v={v} at={app.created_at} />,
      ])}
      empty={t("No apps yet. Issue one to get an appid and a secret.")}
    />
  );
}

async function appsPage(c: RequestContext, { values, errors }: Filled): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const { settings, site } = await siteOf(c);
  const path = `/console/sites/${site.id}/apps`;
  const apps = await listAppsOfSite(settings.directory, site.id, appidCursor(c.req.query("cursor")), 50);
  const bringing = Boolean(values.appid || errors.appid || errors.secret);
  const body = (
    <>
      <AppTable v={v} siteId={site.id} apps={apps.items} />
      <More v={v} path={path} cursor={apps.next_cursor} />
      <section class="card">
        <h2>{t("Issue an app")}</h2>
        <form method="post" action={path}>
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
            <summary>{t("Bring an appid or a secret along")}</summary>
            <p>{t("For callers of another service that keep what they have. Whatever is left empty is made here.")}</p>
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
        </form>
      </section>
    </>
  );
  const page = { title: t("Apps"), site: { ...site, tab: "apps" as const }, back: path, body };
  return show(c, page, Object.keys(errors).length > 0 ? 400 : 200);
}
