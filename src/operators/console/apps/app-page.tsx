import type { Child } from "hono/jsx";
import { unlessRefusedFor } from "../../../core/errors.ts";
import { MAIN_HOME } from "../../../core/homes.ts";
import { endOverlap, readSecret, rotateSecret } from "../../services/app-secrets.ts";
import { type AppSummary, findApp, releaseApp, revokeApp } from "../../services/apps.ts";
import { readSiteUsage, type SiteUsage } from "../../services/site-usage.ts";
import type { Site } from "../../services/sites.ts";
import { type NetworkUse, outcomeName, readNetworkUses } from "../../services/usage.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask.tsx";
import { AskLink, FieldsForm, FormErrors } from "../parts/form.tsx";
import { Table } from "../parts/list.tsx";
import { Ago, ButtonLink, Card, type FactRows, NoticeBox, Part, Time, Unread } from "../parts/parts.tsx";
import { UsageCard } from "../parts/usage-card.tsx";
import { reasonLabels } from "../reasons.ts";
import { OverlapCard, RotateCard, rotationFields, type ShownSecretOwner } from "../secrets/rotate-secret.tsx";
import { useView, type View } from "../view.ts";
import {
  AppState,
  appFields,
  lastUsedFact,
  oldSecretUse,
  orUndefined,
  readLastUses,
  refusedCallsPath,
} from "./apps-page.tsx";
import { CodeExample } from "./code-example.tsx";

/** Reads the app that the path names, for its own pages and those of its secret. @throws ServiceError `not_found` */
export async function appOf(c: PageContext, siteOfPath: Site) {
  const { ctx, view, t } = c.var;
  const site = { ...siteOfPath, tab: "apps" as const };
  const app = await findApp(ctx, { site, appid: c.req.param("appid") ?? "" });
  const { appid, version, previousExpiresAt } = app;
  const path = `/console/sites/${site.id}/apps/${appid}`;
  return {
    app,
    site,
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
  } satisfies Omit<ShownSecretOwner, "page"> & { app: AppSummary };
}

/** The page of an app, or of a reserved appid without an app. */
export const appPageOrMissing = async (c: PageContext, site: Site): Promise<Response> =>
  (await appPage(c, site).catch(unlessRefusedFor("app_missing"))) ?? missingAppPage(c, site);

/** The app that the path names, for the pages of its secret. @throws ServiceError `not_found` */
export const secretOwnerOf = async (c: PageContext, site: Site): Promise<ShownSecretOwner> => ({
  ...(await appOf(c, site)),
  page: (filledForm) => appPage(c, site, filledForm),
});

async function appPage(c: PageContext, siteOfPath: Site, filled?: FilledForm): Promise<Response> {
  const { ctx, view, t } = c.var;
  const owner = await appOf(c, siteOfPath);
  const { app, site, path, isActive } = owner;
  const { appid } = app;
  const [usage, networks, code] = await Promise.all([
    orUndefined(c, readSiteUsage(ctx, site, appid)),
    orUndefined(c, readNetworkUses(ctx, { site, appid, limit: 50 })),
    isActive && CodeExample(c, { site, appid, path }, false),
  ]);
  const body = (
    <>
      <FormErrors filled={filled} fields={rotationFields(view)} />
      {isActive && <OverlapCard owner={owner} use={oldSecretUse(view, usage, appid)} />}
      <Card
        facts={[
          ...owner.facts,
          [t("State"), <AppState app={app} />],
          lastUsedFact(view, usage, app),
          app.revokedAt !== null && [t("Revoked on"), <Time at={app.revokedAt} />],
          [t("Issued"), <Time at={app.createdAt} />],
        ]}
      >
        {isActive && (
          <div class="buttons">
            {view.may(`${path}/test`) && <ButtonLink href={`${path}/test`} label={t("Send a test call")} />}
            <AskLink href={`${path}/revoke`}>{t("Revoke this app…")}</AskLink>
          </div>
        )}
      </Card>
      <AppCalls siteId={site.id} app={app} usage={usage} />
      <NetworkUses uses={networks} />
      {isActive && <RotateCard owner={owner} filledForm={filled} />}
      {code}
    </>
  );
  return showPage(c, { title: app.name, site, appid, body, filled });
}

/** The calls of an app by day and by outcome. @param props `usage`: undefined when the read failed */
function AppCalls({ siteId, app, usage }: { siteId: number; app: AppSummary; usage: SiteUsage | undefined }) {
  const view = useView();
  const { t } = view;
  return (
    <Part title={t("Calls")} all={[refusedCallsPath(siteId, app.appid), t("Refused calls of this app")]}>
      {usage === undefined ? <Unread /> : <UsageCard usage={usage} site={app} />}
      {usage && usage.completeUntil !== null && usage.outcomes.length > 0 && (
        <Table
          id={undefined}
          label={t("Calls by outcome")}
          head={[t("What came of it"), { label: t("Calls"), phone: "top", end: true }]}
          rows={outcomeRows(view, usage.outcomes, (reason) => refusedCallsPath(siteId, app.appid, reason))}
          empty=""
        />
      )}
    </Part>
  );
}

/** What calls came to and how many, the most frequent outcome first. A reason leads to the calls that were refused for it. */
function outcomeRows(view: View, outcomes: SiteUsage["outcomes"], pathOf: (reason: string) => string): Child[][] {
  const { t, number } = view;
  const accepted = { ok: t("Accepted"), repeated: t("Accepted before, under the same Idempotency-Key") };
  const reasons = reasonLabels(view);
  return [...Map.groupBy(outcomes, ({ outcome }) => outcomeName(outcome))]
    .map(([name, each]) => ({ name, count: each.reduce((sum, { count }) => sum + count, 0) }))
    .sort((a, b) => b.count - a.count)
    .map(({ name, count }) => [
      // In a span, a long reason is not cut off on a phone.
      <span>{accepted[name as keyof typeof accepted] ?? <a href={pathOf(name)}>{reasons.get(name) ?? name}</a>}</span>,
      number(count),
    ]);
}

/** From which networks an app's secrets were used. @param props `uses`: undefined when the read failed */
function NetworkUses({ uses }: { uses: NetworkUse[] | undefined }) {
  const { t } = useView();
  const secrets = {
    current: t("The secret in use"),
    previous: t("The old secret"),
    ended: t("A secret that has ended"),
  };
  return (
    <Part id="networks" title={t("Where its secrets were used")}>
      {uses === undefined ? (
        <Unread />
      ) : (
        <Table
          label={t("Networks")}
          head={[t("Network"), t("Secret"), { label: t("Last used"), named: true }]}
          rows={uses.map((use) => [<code>{use.network}</code>, secrets[use.secret], <Ago at={use.lastUsedAt} />])}
          empty={t("No network is known yet.")}
        />
      )}
      <p class="hint">
        {t(
          "The networks of 14 days, the last use first: /24 of IPv4, /48 of IPv6. An hour keeps the newest eight. Calls that no secret verified are not among them.",
        )}
      </p>
    </Part>
  );
}

export async function revokePage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view, t } = c.var;
  const { site, path, isActive, facts, app } = await appOf(c, siteOfPath);
  if (!isActive) return c.redirect(path, 303);
  return askPage(c, {
    site,
    title: t("Revoke this app?"),
    text: t(
      "None of its secrets will verify from then on, and it cannot be undone. Calls that use it fail at once with 401.",
    ),
    facts: [...facts, lastUsedFact(view, await readLastUses(c, site, app.appid), app)],
    button: t("Revoke for good"),
    back: path,
  });
}

export async function postRevoke(c: PageContext, site: Site): Promise<Response> {
  const { app, path } = await appOf(c, site);
  return buttonAction(c, {
    list: path,
    work: () => revokeApp(c.var.ctx, app).then(() => doneLocation(c, path, "revoked")),
  });
}

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
  const { t } = c.var;
  const { site, appid, path, facts, isClosed } = reservedAppidOf(c, siteOfPath);
  const app = await findApp(c.var.ctx, { site, appid }).catch(unlessRefusedFor("app_missing"));
  if (app !== undefined || isClosed) return c.redirect(path, 303);
  return askPage(c, {
    site,
    title: t("Release this appid?"),
    text: t("Any site can get it from then on. This site loses its claim to it."),
    facts,
    button: t("Release the appid"),
    back: path,
  });
}

export async function postRelease(c: PageContext, site: Site): Promise<Response> {
  const { appid, apps, path } = reservedAppidOf(c, site);
  return buttonAction(c, {
    list: apps,
    work: () =>
      releaseApp(c.var.ctx, { appid, siteId: site.id })
        .then(() => doneLocation(c, apps, "released"))
        .catch(unlessRefusedFor("app_issued", "route_claimed"))
        .then((released) => released ?? doneLocation(c, path, "not_released")),
  });
}

/** The page of an appid without an app: its app can be issued again, or the appid released. */
async function missingAppPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view, t } = c.var;
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
      <Card facts={facts}>
        <FieldsForm
          action={apps}
          hidden={{ appid }}
          fields={{ name, secret: { ...secret, hint } }}
          button={t("Issue app")}
        />
      </Card>
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
