import { isRefusedFor } from "../../../errors.ts";
import { findApp } from "../../../services/find-app.ts";
import { readSecret } from "../../../services/read-secret.ts";
import { siteOf } from "../../operator.ts";
import type { ConsoleRoutes, PageContext } from "../env.ts";
import { show } from "../layout.tsx";
import { Copyable, Notice, Until } from "../parts/parts.tsx";
import { ticketEnd, ticketFor } from "../tickets.ts";

/** The address of the page that shows a new secret, to this console session only and for ten minutes. */
export async function secretLocation(
  c: PageContext,
  siteId: number,
  { appid, version }: { appid: string; version: string },
): Promise<string> {
  const { session, now } = c.var.view;
  const path = `/console/sites/${siteId}/apps/${appid}`;
  if (session === undefined) return path;
  return `${path}/secret?ticket=${await ticketFor(session, purposeOf(appid, version), now)}`;
}

export function secretPage(routes: ConsoleRoutes): void {
  routes.get("/sites/:site_id/apps/:appid/secret", async (c) => {
    const view = c.var.view;
    const { t } = view;
    const { ctx } = c.var;
    const site = await siteOf(c);
    const appid = c.req.param("appid");
    const app = await findApp(ctx, { site, appid });
    const { version } = app;
    const path = `/console/sites/${site.id}/apps/${appid}`;
    // The ticket names the version, so that it does not show a newer secret of another operator.
    const purpose = purposeOf(appid, version);
    const end = view.session && (await ticketEnd(view.session, purpose, c.req.query("ticket") ?? "", view.now));
    const shown = { site: { ...site, tab: "apps" as const } };
    const gone = () =>
      show(c, { ...shown, title: t("This secret is no longer shown"), body: <Gone c={c} path={path} /> }, 410);
    if (end === undefined) return gone();
    let secret: string;
    try {
      secret = await readSecret(ctx, { site, appid, version });
    } catch (error) {
      if (isRefusedFor(error, "app_revoked", "version_other")) return gone();
      throw error;
    }
    // Reloads an open page when the time is up, so that the secret disappears.
    c.header("refresh", String(end - view.now));
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
            <Copyable view={view} id="appid" label="appid" text={appid} />
            <Copyable view={view} id="secret" label={t("Secret")} text={secret} />
            <dt>{t("Shown here until")}</dt>
            <dd>
              <Until view={view} at={end} />
            </dd>
            {(app.previousExpiresAt ?? 0) > view.now && (
              <>
                <dt>{t("Previous secret until")}</dt>
                <dd>
                  <Until view={view} at={app.previousExpiresAt ?? 0} />
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

function Gone({ c, path }: { c: PageContext; path: string }) {
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
