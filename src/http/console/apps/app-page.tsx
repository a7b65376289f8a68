import { isRefusedFor } from "../../../errors.ts";
import { endOverlap, readSecret, rotateSecret } from "../../../services/app-secrets.ts";
import { findApp, revokeApp } from "../../../services/apps.ts";
import type { Site } from "../../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation, type Filled, isRefused } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask-page.tsx";
import { AskLink, Faults } from "../parts/form.tsx";
import { Copyable, Time } from "../parts/parts.tsx";
import { PreviousSecret } from "../secrets/previous-secret.tsx";
import { RotateCard } from "../secrets/rotate-card.tsx";
import type { ShownSecretOwner } from "../secrets/secret-owner.ts";
import { AppState } from "./app-table.tsx";
import { LastUsedFact, oldSecretUse, readLastUses } from "./last-use.tsx";
import { missingAppPage } from "./missing-app.tsx";

/** The page of an app, or of a reserved appid without an app. */
export async function appPageOrMissing(c: PageContext, site: Site): Promise<Response> {
  try {
    return await appPage(c, site);
  } catch (error) {
    if (isRefusedFor(error, "app_missing")) return missingAppPage(c, site);
    throw error;
  }
}

export async function revokePage(c: PageContext, named: Site): Promise<Response> {
  const { t } = c.var.view;
  const { site, path, isActive, facts } = await appOf(c, named);
  if (!isActive) return c.redirect(path, 303);
  return askPage(c, site, {
    title: t("Revoke this app?"),
    text: t(
      "None of its secrets will verify from then on, and it cannot be undone. Calls that use it fail at once with 401.",
    ),
    facts,
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

/** The app that the path names. @throws ServiceError `not_found` */
export async function appOf(c: PageContext, site: Site) {
  const { ctx, view } = c.var;
  const { t } = view;
  const app = await findApp(ctx, { site, appid: c.req.param("appid") ?? "" });
  const { appid, version, previousExpiresAt } = app;
  const owner: ShownSecretOwner = {
    site: { ...site, tab: "apps" },
    path: `/console/sites/${site.id}/apps/${appid}`,
    version,
    previousExpiresAt,
    isActive: app.revokedAt === null,
    facts: (
      <>
        <dt>{t("Name")}</dt>
        <dd>
          <bdi>{app.name}</bdi>
        </dd>
        <Copyable view={view} id="appid" label="appid" text={appid} />
      </>
    ),
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
    page: (again) => appPage(c, site, again),
  };
  return { ...owner, app };
}

async function appPage(c: PageContext, named: Site, again?: Filled): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { app, ...owner } = await appOf(c, named);
  const { site, path } = owner;
  const uses = await readLastUses(c, named, app.appid);
  const body = (
    <>
      <Faults view={view} filled={again} labels={{ overlap_seconds: t("Overlap"), ends: t("Which secret stops") }} />
      <section class="card">
        <dl class="facts">
          {owner.facts}
          <dt>{t("State")}</dt>
          <dd>
            <AppState view={view} app={app} />
          </dd>
          <dt>{t("Issued")}</dt>
          <dd>
            <Time view={view} at={app.createdAt} />
          </dd>
          <LastUsedFact view={view} uses={uses} appid={app.appid} />
          {app.revokedAt === null ? (
            <PreviousSecret view={view} of={owner} stop use={oldSecretUse(view, uses, app.appid)} />
          ) : (
            <>
              <dt>{t("Revoked on")}</dt>
              <dd>
                <Time view={view} at={app.revokedAt} />
              </dd>
            </>
          )}
        </dl>
      </section>
      <p>
        <a href={`/console/sites/${site.id}/refusals?${new URLSearchParams({ appid: app.appid })}`}>
          {t("Refused calls of this app")}
        </a>
      </p>
      {owner.isActive && (
        <>
          <RotateCard view={view} owner={owner} again={again} />
          <p>
            <AskLink view={view} href={`${path}/revoke`}>
              {t("Revoke this app…")}
            </AskLink>
          </p>
        </>
      )}
    </>
  );
  const filled = again && { path: `${path}/rotate`, values: again.values };
  return showPage(c, { title: app.name, site, back: path, body, filled }, isRefused(again) ? 400 : 200);
}
