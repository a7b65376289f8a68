import { isRefusedFor } from "../../../core/errors.ts";
import { endOverlap, readSecret, rotateSecret } from "../../services/app-secrets.ts";
import { findApp, revokeApp } from "../../services/apps.ts";
import type { Site } from "../../services/sites.ts";
import { readNetworkUses } from "../../services/usage.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask.tsx";
import { AskLink, FormErrors } from "../parts/form.tsx";
import { Facts, Time } from "../parts/parts.tsx";
import { OverlapCard } from "../secrets/overlap-card.tsx";
import { RotateCard, rotationFields } from "../secrets/rotate-secret.tsx";
import type { ShownSecretOwner } from "../secrets/secret-owner.ts";
import { readSiteUsage } from "../sites/site-usage.ts";
import { AppCalls, NetworkUses } from "./app-calls.tsx";
import { AppState } from "./apps-page.tsx";
import { CodeExample } from "./code-example.tsx";
import { lastUsedFact, lastUsesOf, oldSecretUse, orUndefined, readLastUses } from "./last-use.tsx";
import { missingAppPage } from "./missing-app.tsx";

/** Reads the app that the path names, for its own pages and those of its secret. @throws ServiceError `not_found` */
export async function appOf(c: PageContext, site: Site) {
  const { ctx, view } = c.var;
  const { t } = view;
  const app = await findApp(ctx, { site, appid: c.req.param("appid") ?? "" });
  const { appid, version, previousExpiresAt } = app;
  const path = `/console/sites/${site.id}/apps/${appid}`;
  const owner: Omit<ShownSecretOwner, "page"> = {
    site: { ...site, tab: "apps" },
    path,
    version,
    previousExpiresAt,
    isActive: app.revokedAt === null,
    facts: [
      [t("Name"), <bdi>{app.name}</bdi>],
      ["appid", appid, "appid"],
    ],
    words: {
      made: t("The app was issued"),
      use: t("Whoever has it can call as this app: keep it out of code, chats and tickets."),
      stopped: t(
        "Calls signed with a secret that has stopped fail at once with 401: make sure first that no caller uses it any more.",
      ),
    },
    read: () => readSecret(ctx, { site, appid, version }),
    rotate: (input) => rotateSecret(ctx, { appid, ...input }),
    endOverlap: (expectedVersion) => endOverlap(ctx, { appid, expectedVersion }),
    previousUse: async () => oldSecretUse(view, await readLastUses(c, site, appid), appid),
    next: () => CodeExample(c, { site, appid, path }, true),
  };
  return { ...owner, app };
}

/** The page of an app, or of a reserved appid without an app. */
export const appPageOrMissing = (c: PageContext, site: Site): Promise<Response> =>
  appPage(c, site).catch((error) => {
    if (isRefusedFor(error, "app_missing")) return missingAppPage(c, site);
    throw error;
  });

/** The app that the path names, for the pages of its secret. @throws ServiceError `not_found` */
export const secretOwnerOf = async (c: PageContext, site: Site): Promise<ShownSecretOwner> => ({
  ...(await appOf(c, site)),
  page: (filledForm) => appPage(c, site, filledForm),
});

/** How many networks the page of an app shows. */
const MOST_NETWORKS = 50;

async function appPage(c: PageContext, siteOfPath: Site, filled?: FilledForm): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const { app, ...owner } = await appOf(c, siteOfPath);
  const { site, path, isActive } = owner;
  const { appid } = app;
  const [usage, networks, code] = await Promise.all([
    orUndefined(c, readSiteUsage(ctx, siteOfPath, appid)),
    orUndefined(c, readNetworkUses(ctx, { site: siteOfPath, appid, limit: MOST_NETWORKS })),
    isActive && CodeExample(c, { site: siteOfPath, appid, path }, false),
  ]);
  const uses = usage && lastUsesOf(usage);
  const body = (
    <>
      <FormErrors filled={filled} fields={rotationFields(view)} />
      {isActive && <OverlapCard owner={owner} use={oldSecretUse(view, uses, appid)} />}
      <section class="card">
        <Facts
          rows={[
            ...owner.facts,
            [t("State"), <AppState app={app} />],
            lastUsedFact(view, uses, app),
            app.revokedAt !== null && [t("Revoked on"), <Time at={app.revokedAt} />],
            [t("Issued"), <Time at={app.createdAt} />],
          ]}
        />
        {isActive && (
          <div class="buttons">
            {view.may(`${path}/test`) && (
              <a class="button" href={`${path}/test`}>
                {t("Send a test call")}
              </a>
            )}
            <AskLink href={`${path}/revoke`}>{t("Revoke this app…")}</AskLink>
          </div>
        )}
      </section>
      <AppCalls siteId={site.id} app={app} usage={usage} />
      <NetworkUses uses={networks} />
      {isActive && <RotateCard owner={owner} filledForm={filled} />}
      {code}
    </>
  );
  return showPage(c, { title: app.name, site, appid, body, filled });
}

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
    facts: [...facts, lastUsedFact(view, uses, app)],
    button: t("Revoke for good"),
    keep: t("Keep it"),
    back: path,
  });
}

export async function postRevoke(c: PageContext, site: Site): Promise<Response> {
  const { app, path } = await appOf(c, site);
  return buttonAction(c, await readForm(c), {
    list: path,
    work: async () => {
      await revokeApp(c.var.ctx, app);
      return doneLocation(c, path, "revoked");
    },
  });
}
