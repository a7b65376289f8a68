import { unseal } from "../../../credentials/sealed-secret.ts";
import { findApp } from "../../../store/directory/apps.ts";
import { notFound } from "../../admin/problem.ts";
import type { RequestContext } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { deskOf, siteOf } from "../../operator.ts";
import { show } from "../layout.tsx";
import { Copyable, Notice, Until } from "../parts.tsx";
import { ticketEnd, ticketFor } from "../session-cookie.ts";

/** Where to lead once an app has a new secret: the page that shows it, to this console session only and for ten minutes. */
export async function secretLocation(
  c: RequestContext,
  siteId: number,
  { appid, version }: { appid: string; version: string },
): Promise<string> {
  const { session, now } = c.var.view;
  const path = `/console/sites/${siteId}/apps/${appid}`;
  if (session === undefined) return path;
  return `${path}/secret?ticket=${await ticketFor(session, purposeOf(appid, version), now)}`;
}

export function secretPage(routes: Routes): void {
  routes.get("/sites/:site_id/apps/:appid/secret", async (c) => {
    const v = c.var.view;
    const { t } = v;
    const { config, site } = await siteOf(c);
    const appid = c.req.param("appid");
    const app = await findApp(c.var.isolate.runtime, config.directory, appid);
    if (app === null || app.siteId !== site.id) throw notFound("app");
    const path = `/console/sites/${site.id}/apps/${appid}`;
    // The ticket names the version, so it never shows a secret that somebody else made since.
    const purpose = purposeOf(appid, app.version);
    const end = v.session && (await ticketEnd(v.session, purpose, c.req.query("ticket") ?? "", v.now));
    const shown = { site: { ...site, tab: "apps" as const } };
    if (end === undefined || app.revokedAt !== null) {
      return show(c, { ...shown, title: t("This secret is no longer shown"), body: <Gone c={c} path={path} /> }, 410);
    }
    // A page that is left open forgets it too.
    c.header("refresh", String(end - v.now));
    const secret = await unseal(await deskOf(c, "console").keyring(), app, "current", app.secret);
    const body = (
      <>
        <Notice kind="note" title={t("Copy the secret now")}>
          <p>
            {t(
              "It is shown on this page alone, while you are signed in and no longer than ten minutes; it is stored sealed. Whoever has it can call as this app: keep it out of code, chats and tickets.",
            )}
          </p>
        </Notice>
        <section class="card">
          <dl class="facts">
            <Copyable v={v} id="appid" label="appid" text={appid} />
            <Copyable v={v} id="secret" label={t("Secret")} text={secret} />
            <dt>{t("Shown here until")}</dt>
            <dd>
              <Until v={v} at={end} />
            </dd>
            {(app.previousExpiresAt ?? 0) > v.now && (
              <>
                <dt>{t("Previous secret until")}</dt>
                <dd>
                  <Until v={v} at={app.previousExpiresAt ?? 0} />
                </dd>
              </>
            )}
          </dl>
          <a class="button" href={path}>
            {t("I have saved it")}
          </a>
        </section>
      </>
    );
    const title = app.previousExpiresAt === null ? t("The app was issued") : t("The secret was rotated");
    return show(c, { ...shown, title, body });
  });
}

function Gone({ c, path }: { c: RequestContext; path: string }) {
  const { t } = c.var.view;
  return (
    <section class="card">
      <p>
        {t(
          "A secret is shown for ten minutes, only in the session that created it, and not after the next rotation. It is not shown again. If it was not kept, rotate: that makes a new one.",
        )}
      </p>
      <p>
        <a class="button" href={`${path}#rotate`}>
          {t("To the app")}
        </a>
      </p>
    </section>
  );
}

const purposeOf = (appid: string, version: string) => ["secret", appid, version];
