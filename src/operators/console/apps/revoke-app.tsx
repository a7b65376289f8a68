import { revokeApp } from "../../services/apps.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { askPage } from "../parts/ask.tsx";
import { appOf } from "./app-of.tsx";
import { LastUsedFact, readLastUses } from "./last-use.tsx";

export async function revokePage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { site, path, isActive, facts, app } = await appOf(c, siteOfPath);
  if (!isActive) return c.redirect(path, 303);
  const uses = await readLastUses(c, siteOfPath, app.appid);
  return askPage(c, {
    site,
    title: t("Revoke this app?"),
    text: t(
      "None of its secrets will verify from then on, and it cannot be undone. Calls that use it fail at once with 401.",
    ),
    facts: (
      <>
        {facts}
        <LastUsedFact view={view} uses={uses} app={app} />
      </>
    ),
    action: `${path}/revoke`,
    button: t("Revoke for good"),
    keep: t("Keep it"),
    back: path,
  });
}

export async function postRevoke(c: PageContext, site: Site): Promise<Response> {
  const { app, path } = await appOf(c, site);
  const form = await readForm(c);
  return buttonAction(c, form, {
    draft: { path: `${path}/revoke` },
    list: path,
    work: async () => {
      await revokeApp(c.var.ctx, app);
      return doneLocation(c, path, "revoked");
    },
  });
}
