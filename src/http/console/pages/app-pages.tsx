import { revokeApp } from "../../../credentials/revoke-app.ts";
import { rotateSecret, rotateSecretSchema } from "../../../credentials/rotate-secret.ts";
import { findAppOfSite } from "../../../store/apps.ts";
import type { RequestContext } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { deskOf, siteOf } from "../../operator.ts";
import { notFound } from "../../problem.ts";
import { show } from "../layout.tsx";
import { doneText } from "../messages.ts";
import { Copyable, Notice, Time, Until } from "../parts.tsx";
import { readForm } from "../read-form.ts";
import { AppState } from "./app-state.tsx";
import { secretPage } from "./secret-page.tsx";

export function appPages(routes: Routes): void {
  routes.get("/sites/:site_id/apps/:appid", (c) => appPage(c));

  routes.post("/sites/:site_id/apps/:appid/rotate", async (c) => {
    const v = c.var.view;
    const { site, app } = await appOf(c);
    const { overlap_seconds = "", version } = await readForm(c);
    const chosen = /^\d+$/.test(overlap_seconds) ? Number(overlap_seconds) : overlap_seconds;
    const input = rotateSecretSchema.safeParse({ overlap_seconds: chosen });
    if (!input.success) return appPage(c, v.t("Choose one of the overlaps."));
    const rotated = await rotateSecret(deskOf(c, "console"), app.appid, input.data.overlap_seconds, version);
    if (rotated === "revoked") return appPage(c, v.t("The app is revoked."));
    if (rotated === "missing" || rotated === "busy") {
      return appPage(c, v.t("The app was rotated since this form was shown. Nothing was changed now."));
    }
    const title = v.t("The secret was rotated");
    return secretPage(c, site, { ...rotated, title, previousExpiresAt: rotated.previous_expires_at });
  });

  routes.get("/sites/:site_id/apps/:appid/revoke", async (c) => {
    const { t } = c.var.view;
    const { site, app, path } = await appOf(c);
    const body = (
      <section class="card">
        <p>
          {t(
            "None of its secrets will verify from then on, and it cannot be undone. Calls that use it fail at once with 401.",
          )}
        </p>
        <dl class="facts">
          <dt>{t("Name")}</dt>
          <dd>{app.name}</dd>
          <dt>appid</dt>
          <dd>
            <code>{app.appid}</code>
          </dd>
        </dl>
        <form method="post" action={`${path}/revoke`}>
          <div class="buttons">
            <button type="submit" class="danger">
              {t("Revoke for good")}
            </button>
            <a class="button plain" href={path}>
              {t("Keep it")}
            </a>
          </div>
        </form>
      </section>
    );
    return show(c, { title: t("Revoke this app?"), site: { ...site, tab: "apps" }, body });
  });

  routes.post("/sites/:site_id/apps/:appid/revoke", async (c) => {
    const { app, path } = await appOf(c);
    await revokeApp(deskOf(c, "console"), app.appid);
    return c.redirect(`${path}?done=revoked`, 303);
  });
}

async function appPage(c: RequestContext, fault?: string): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const { site, app, path } = await appOf(c);
  const done = doneText(v, c.req.query("done"));
  const overlaps: [number, string][] = [
    [0, t("None: the old one stops now")],
    [3_600, t("1 hour")],
    [86_400, t("24 hours")],
    [604_800, t("7 days")],
  ];
  const body = (
    <>
      {done && <Notice kind="good" title={done} />}
      {fault && <Notice kind="bad" title={fault} />}
      <section class="card">
        <dl class="facts">
          <Copyable v={v} id="appid" label="appid" text={app.appid} />
          <dt>{t("State")}</dt>
          <dd>
            <AppState v={v} revokedAt={app.revokedAt} previousExpiresAt={app.previousExpiresAt} />
          </dd>
          <dt>{t("Issued")}</dt>
          <dd>
            <Time v={v} at={app.createdAt} />
          </dd>
          {app.revokedAt !== null && (
            <>
              <dt>{t("Revoked on")}</dt>
              <dd>
                <Time v={v} at={app.revokedAt} />
              </dd>
            </>
          )}
          {app.revokedAt === null && (app.previousExpiresAt ?? 0) > v.now && (
            <>
              <dt>{t("Previous secret until")}</dt>
              <dd>
                <Until v={v} at={app.previousExpiresAt ?? 0} />
              </dd>
            </>
          )}
        </dl>
      </section>
      {app.revokedAt === null && (
        <>
          <section class="card">
            <h2>{t("Rotate the secret")}</h2>
            <p>
              {t(
                "Makes a new secret. The one in use goes on working for the overlap, so callers can change over; an older one stops now.",
              )}
            </p>
            <form method="post" action={`${path}/rotate`}>
              <input type="hidden" name="version" value={app.version} />
              <div class="field">
                <label for="overlap_seconds">{t("Overlap")}</label>
                <select id="overlap_seconds" name="overlap_seconds">
                  {overlaps.map(([seconds, label]) => (
                    <option value={seconds} selected={seconds === 86_400}>
                      {label}
                    </option>
                  ))}
                </select>
              </div>
              <button type="submit">{t("Rotate")}</button>
            </form>
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
  return show(c, { title: app.name, site: { ...site, tab: "apps" }, back: path, body }, fault ? 409 : 200);
}

async function appOf(c: RequestContext) {
  const { settings, site } = await siteOf(c);
  const app = await findAppOfSite(settings.directory, site.id, c.req.param("appid") ?? "");
  if (app === undefined) throw notFound("app");
  return { site, app, path: `/console/sites/${site.id}/apps/${app.appid}` };
}
