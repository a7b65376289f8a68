import { isRefusedFor } from "../../../errors.ts";
import type { AppSummary } from "../../../services/list-apps.ts";
import { revokeApp } from "../../../services/revoke-app.ts";
import { rotateSecret } from "../../../services/rotate-secret.ts";
import type { ConsoleRoutes, PageContext } from "../env.ts";
import { show } from "../layout.tsx";
import { doneLocation, doneNotice, type Filled, isRefused } from "../messages.ts";
import { isDraft, once } from "../once.ts";
import { Faults, Field, Form } from "../parts/form.tsx";
import { Copyable, Notice, Time, Until } from "../parts/parts.tsx";
import { readForm } from "../read-form.ts";
import { appOf } from "./app-of.ts";
import { AppState, hasOverlap } from "./app-table.tsx";
import { confirmRevocationPage, confirmRotationPage } from "./confirm-pages.tsx";
import { overlapOf, overlapsOf } from "./overlap.ts";
import { secretLocation } from "./secret-page.tsx";

export function appPages(routes: ConsoleRoutes): void {
  routes.get("/sites/:site_id/apps/:appid", (c) => appPage(c));

  routes.get("/sites/:site_id/apps/:appid/rotate", (c) => confirmRotationPage(c, c.req.query("overlap_seconds")));

  routes.post("/sites/:site_id/apps/:appid/rotate", async (c) => {
    const { t, now } = c.var.view;
    const { site, app, path } = await appOf(c);
    const form = await readForm(c);
    const { overlap_seconds = "", version, confirmed } = form;
    const overlap = overlapOf(overlap_seconds);
    if (overlap === undefined) {
      return appPage(c, { values: { overlap_seconds }, errors: { overlap_seconds: t("Choose one of the overlaps.") } });
    }
    if (await isDraft(c, form)) {
      if (confirmed)
        return c.redirect(await doneLocation(c, `${path}/rotate?overlap_seconds=${overlap}`, "draft"), 303);
      return appPage(c, { values: { overlap_seconds }, errors: {} });
    }
    return once(c, form, path, async () => {
      if (app.revokedAt === null && version === app.version && !confirmed && endsASecret(app, overlap, now)) {
        return `${path}/rotate?overlap_seconds=${overlap}`;
      }
      try {
        const input = { appid: app.appid, overlapSeconds: overlap, expectedVersion: version ?? "" };
        return await secretLocation(c, site.id, await rotateSecret(c.var.ctx, input));
      } catch (error) {
        if (isRefusedFor(error, "app_revoked")) return doneLocation(c, path, "revoked_before");
        if (isRefusedFor(error, "version_other")) return doneLocation(c, path, "rotated_before");
        throw error;
      }
    });
  });

  routes.get("/sites/:site_id/apps/:appid/revoke", (c) => confirmRevocationPage(c));

  routes.post("/sites/:site_id/apps/:appid/revoke", async (c) => {
    const { app, path } = await appOf(c);
    const form = await readForm(c);
    if (await isDraft(c, form)) return c.redirect(await doneLocation(c, `${path}/revoke`, "draft"), 303);
    return once(c, form, path, async () => {
      await revokeApp(c.var.ctx, app);
      return doneLocation(c, path, "revoked");
    });
  });
}

/** Whether a rotation ends a secret that callers may still use. Then the operator must confirm it. */
const endsASecret = (app: AppSummary, overlap: number, now: number) => overlap === 0 || hasOverlap(app, now);

async function appPage(c: PageContext, again?: Filled): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { site, app, path } = await appOf(c);
  const done = await doneNotice(c);
  const body = (
    <>
      {done && <Notice {...done} />}
      <Faults view={view} filled={again} labels={{ overlap_seconds: t("Overlap") }} />
      <section class="card">
        <dl class="facts">
          <Copyable view={view} id="appid" label="appid" text={app.appid} />
          <dt>{t("State")}</dt>
          <dd>
            <AppState view={view} app={app} />
          </dd>
          <dt>{t("Issued")}</dt>
          <dd>
            <Time view={view} at={app.createdAt} />
          </dd>
          {app.revokedAt !== null && (
            <>
              <dt>{t("Revoked on")}</dt>
              <dd>
                <Time view={view} at={app.revokedAt} />
              </dd>
            </>
          )}
          {app.revokedAt === null && hasOverlap(app, view.now) && (
            <>
              <dt>{t("Previous secret until")}</dt>
              <dd>
                <Until view={view} at={app.previousExpiresAt ?? 0} />
              </dd>
            </>
          )}
        </dl>
      </section>
      {app.revokedAt === null && (
        <>
          <section class="card" id="rotate">
            <h2>{t("Rotate the secret")}</h2>
            <p>
              {t("Makes a new secret. The one in use goes on working for the overlap, so callers can change over.")}
            </p>
            {hasOverlap(app, view.now) && (
              <p>
                {t(
                  "An overlap is running: the previous secret works until {0}. Rotating now would stop it at once; you are asked first.",
                  view.time(app.previousExpiresAt ?? 0),
                )}
              </p>
            )}
            <Form view={view} action={`${path}/rotate`}>
              <input type="hidden" name="version" value={app.version} />
              <Field
                label={t("Overlap")}
                name="overlap_seconds"
                value={again?.values.overlap_seconds ?? "86400"}
                error={again?.errors.overlap_seconds}
                options={overlapsOf(view)}
              />
              <button type="submit">{t("Rotate")}</button>
            </Form>
          </section>
          <p>
            <a class="button danger" href={`${path}/revoke`}>
              {t("Revoke this app…")}
            </a>
          </p>
        </>
      )}
    </>
  );
  const page = { title: app.name, site: { ...site, tab: "apps" as const }, back: path, body };
  const filled = again && { path: `${path}/rotate`, values: again.values };
  return show(c, { ...page, filled }, isRefused(again) ? 400 : 200);
}
