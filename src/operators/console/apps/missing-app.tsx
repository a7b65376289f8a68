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
import { AskLink, Field, Form } from "../parts/form.tsx";
import { Copyable, NoticeBox } from "../parts/parts.tsx";

/** Asks before a reserved appid is released. The site has no such app, because its home did not answer or a restore removed the app. */
export async function releasePage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { site, appid, path, isMissing, isClosed } = await missingOf(c, siteOfPath);
  if (!isMissing || isClosed) return c.redirect(path, 303);
  return askPage(c, {
    site,
    title: t("Release this appid?"),
    text: t("Any site can get it from then on. This site loses its claim to it."),
    facts: <Copyable id="appid" label="appid" text={appid} />,
    action: `${path}/release`,
    button: t("Release the appid"),
    keep: t("Keep it"),
    back: path,
  });
}

export async function postRelease(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { appid, path } = keptAppidOf(c, site);
  const list = `/console/sites/${site.id}/apps`;
  return buttonAction(c, form, {
    draft: { path: `${path}/release` },
    list,
    work: async () => {
      try {
        await releaseApp(c.var.ctx, { appid, siteId: site.id });
      } catch (error) {
        if (isRefusedFor(error, "app_issued", "route_claimed")) return doneLocation(c, path, "not_released");
        throw error;
      }
      return doneLocation(c, list, "released");
    },
  });
}

/** The appid that the path names, and the path of its page. */
function keptAppidOf(c: PageContext, siteOfPath: Site) {
  const site = { ...siteOfPath, tab: "apps" as const };
  const appid = c.req.param("appid") ?? "";
  return { site, appid, path: `/console/sites/${site.id}/apps/${appid}` };
}

/** @throws ServiceError `not_found` when the appid is not reserved for the site */
async function missingOf(c: PageContext, siteOfPath: Site) {
  const { ctx } = c.var;
  const keptAppid = keptAppidOf(c, siteOfPath);
  const { site, appid } = keptAppid;
  const isMissing = await findApp(ctx, { site, appid }).then(
    () => false,
    (error) => {
      if (isRefusedFor(error, "app_missing")) return true;
      throw error;
    },
  );
  const isClosed = [MAIN_HOME, site.home].some((home) => ctx.config.closedHomes.has(home));
  return { ...keptAppid, isMissing, isClosed };
}

export async function missingAppPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { site, appid, path, isClosed } = await missingOf(c, siteOfPath);
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
        <dl class="facts">
          <Copyable id="appid" label="appid" text={appid} />
        </dl>
        <Form action={`/console/sites/${site.id}/apps`}>
          <input type="hidden" name="appid" value={appid} />
          <Field label={t("Name")} name="name" required maxlength={100} />
          <Field
            label={t("Secret")}
            name="secret"
            type="password"
            hint={t("Only when its caller keeps the one that he has. Left empty, one is made here.")}
            autocomplete="new-password"
            maxlength={256}
            code
          />
          <button type="submit">{t("Issue app")}</button>
        </Form>
      </section>
      {isClosed ? (
        <p>{t("The appid can be released as soon as no home of it is closed.")}</p>
      ) : (
        <p>
          <AskLink href={`${path}/release`}>{t("Release the appid…")}</AskLink>
        </p>
      )}
    </>
  );
  return showPage(c, { title: appid, site, back: path, body });
}
