import { isRefusedFor } from "../../../core/errors.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import type { FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { AskLink, FormErrors } from "../parts/form.tsx";
import { Time } from "../parts/parts.tsx";
import { OverlapCard } from "../secrets/overlap-card.tsx";
import { RotateCard } from "../secrets/rotate-card.tsx";
import type { ShownSecretOwner } from "../secrets/secret-owner.ts";
import { AppCallsFact, readAppCalls } from "./app-calls.tsx";
import { appOf } from "./app-of.tsx";
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

/** The app that the path names, for the pages of its secret. @throws ServiceError `not_found` */
export async function secretOwnerOf(c: PageContext, site: Site): Promise<ShownSecretOwner> {
  return { ...(await appOf(c, site)), page: (filledForm) => appPage(c, site, filledForm) };
}

async function appPage(c: PageContext, siteOfPath: Site, filledForm?: FilledForm): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { app, ...owner } = await appOf(c, siteOfPath);
  const { site, path, isActive } = owner;
  const [uses, calls, next] = await Promise.all([
    readLastUses(c, siteOfPath, app.appid),
    readAppCalls(c, siteOfPath, app.appid),
    isActive ? owner.next?.() : undefined,
  ]);
  const body = (
    <>
      <FormErrors filled={filledForm} fields={{ overlap_seconds: t("Overlap"), ends: t("Which secret stops") }} />
      {isActive && <OverlapCard view={view} owner={owner} use={oldSecretUse(view, uses, app.appid)} />}
      <section class="card">
        <dl class="facts">
          {owner.facts}
          <dt>{t("State")}</dt>
          <dd>
            <AppState view={view} app={app} />
          </dd>
          <dt>{t("Issued")}</dt>
          <dd>
            <Time at={app.createdAt} />
          </dd>
          {app.revokedAt !== null && (
            <>
              <dt>{t("Revoked on")}</dt>
              <dd>
                <Time at={app.revokedAt} />
              </dd>
            </>
          )}
          <LastUsedFact view={view} uses={uses} app={app} />
          <AppCallsFact view={view} siteId={site.id} appid={app.appid} calls={calls} />
        </dl>
      </section>
      {next}
      {isActive && (
        <>
          <RotateCard view={view} owner={owner} filledForm={filledForm} />
          <p>
            <AskLink href={`${path}/revoke`}>{t("Revoke this app…")}</AskLink>
          </p>
        </>
      )}
    </>
  );
  return showPage(c, { title: app.name, site, appid: app.appid, body, filled: filledForm });
}
