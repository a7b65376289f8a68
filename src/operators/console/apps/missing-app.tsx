import { isRefusedFor } from "../../../core/errors.ts";
import { MAIN_HOME } from "../../../core/homes.ts";
import { findApp, releaseApp } from "../../services/apps.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask.tsx";
import { AskLink, FieldsForm } from "../parts/form.tsx";
import { type FactRows, Facts, NoticeBox } from "../parts/parts.tsx";
import { appFields } from "./apps-page.tsx";

/** The appid that the path names. It may be reserved for the site without an app: the home did not answer, or a restore removed the app. */
function reservedAppidOf(c: PageContext, site: Site) {
  const appid = c.req.param("appid") ?? "";
  const apps = `/console/sites/${site.id}/apps`;
  const facts: FactRows = [["appid", appid, "appid"]];
  const isClosed = [MAIN_HOME, site.home].some((home) => c.var.ctx.config.closedHomes.has(home));
  return { site: { ...site, tab: "apps" as const }, appid, apps, path: `${apps}/${appid}`, facts, isClosed };
}

/** Asks before a reserved appid is released. @throws ServiceError `not_found` when the appid is not reserved for the site */
export async function releasePage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { t } = c.var.view;
  const { site, appid, path, facts, isClosed } = reservedAppidOf(c, siteOfPath);
  const isMissing = await findApp(c.var.ctx, { site, appid }).then(
    () => false,
    (error) => {
      if (isRefusedFor(error, "app_missing")) return true;
      throw error;
    },
  );
  if (!isMissing || isClosed) return c.redirect(path, 303);
  return askPage(c, {
    site,
    title: t("Release this appid?"),
    text: t("Any site can get it from then on. This site loses its claim to it."),
    facts,
    button: t("Release the appid"),
    keep: t("Keep it"),
    back: path,
  });
}

export async function postRelease(c: PageContext, site: Site): Promise<Response> {
  const { appid, apps, path } = reservedAppidOf(c, site);
  return buttonAction(c, await readForm(c), {
    list: apps,
    work: async () => {
      try {
        await releaseApp(c.var.ctx, { appid, siteId: site.id });
      } catch (error) {
        if (isRefusedFor(error, "app_issued", "route_claimed")) return doneLocation(c, path, "not_released");
        throw error;
      }
      return doneLocation(c, apps, "released");
    },
  });
}

/** The page of an appid without an app: its app can be issued again, or the appid released. */
export async function missingAppPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { site, appid, apps, path, facts, isClosed } = reservedAppidOf(c, siteOfPath);
  const { name, secret } = appFields(view);
  const hint = t("Only when its caller keeps the one that he has. Left empty, one is made here.");
  const body = (
    <>
      <NoticeBox kind="bad" title={t("This appid has no app")}>
        <p>
          {t(
            "It is kept for this site: the home did not answer when the app was issued, or it lost the app when it was restored. No call that uses it verifies.",
          )}
        </p>
      </NoticeBox>
      <section class="card">
        <Facts rows={facts} />
        <FieldsForm
          action={apps}
          hidden={{ appid }}
          fields={{ name, secret: { ...secret, hint } }}
          button={t("Issue app")}
        />
      </section>
      <p>
        {isClosed ? (
          t("The appid can be released as soon as no home of it is closed.")
        ) : (
          <AskLink href={`${path}/release`}>{t("Release the appid…")}</AskLink>
        )}
      </p>
    </>
  );
  return showPage(c, { title: appid, site, back: path, body });
}
