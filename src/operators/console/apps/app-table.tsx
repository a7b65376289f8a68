import { isVisible } from "../../../core/fields.ts";
import type { AppSummary } from "../../services/apps.ts";
import { AskLink } from "../parts/form.tsx";
import { Badge, EmptyState, Time, TimeLeft } from "../parts/parts.tsx";
import { RowMenu } from "../parts/row-menu.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { hasOverlap } from "../secrets/overlap.ts";
import type { View } from "../view.ts";
import { LastUsedCell, LastUsedHint, type LastUses } from "./last-use.tsx";

/** @param props `uses`: when the apps were last used; undefined when the read failed */
export function AppTable(props: { view: View; siteId: number; apps: AppSummary[]; uses: LastUses | undefined }) {
  const { view, siteId, apps, uses } = props;
  const { t } = view;
  const hasOverlaps = apps.some((app) => isOverlapping(app, view.now));
  const head: (string | Column)[] = [
    t("Name"),
    "appid",
    { label: t("State"), phone: "top" },
    t("Last used"),
    ...(hasOverlaps ? [t("Old secret ends in")] : []),
    { label: t("Issued"), phone: "hide" },
    { label: t("Actions"), phone: "top", end: true },
  ];
  return (
    <>
      <Table
        label={t("Apps")}
        head={head}
        rows={apps.map((app) => [
          <a class="clip" href={`/console/sites/${siteId}/apps/${app.appid}`}>
            <bdi>{nameOf(app)}</bdi>
          </a>,
          <code class="appid" title={app.appid}>
            {app.appid}
          </code>,
          <AppState view={view} app={app} />,
          <LastUsedCell view={view} uses={uses} app={app} />,
          ...(hasOverlaps ? [isOverlapping(app, view.now) && <TimeLeft at={app.previousExpiresAt ?? 0} />] : []),
          <Time at={app.createdAt} />,
          <AppMenu view={view} siteId={siteId} app={app} />,
        ])}
        empty={
          <EmptyState title={t("No apps yet.")}>
            <span>{t("Issue one above: a program signs its calls with its appid and secret.")}</span>
          </EmptyState>
        }
      />
      {apps.length > 0 && <LastUsedHint view={view} uses={uses} />}
    </>
  );
}

const nameOf = ({ name, appid }: AppSummary): string => (isVisible(name) ? name : `(${appid})`);

const isOverlapping = (app: AppSummary, now: number): boolean => app.revokedAt === null && hasOverlap(app, now);

function AppMenu({ view, siteId, app }: { view: View; siteId: number; app: AppSummary }) {
  const { t } = view;
  const path = `/console/sites/${siteId}/apps/${app.appid}`;
  const name = nameOf(app);
  const isActive = app.revokedAt === null;
  const about = <span class="unseen"> {name}</span>;
  return (
    <RowMenu label={t("Actions for {0}", name)}>
      <a href={`/console/sites/${siteId}/refusals?${new URLSearchParams({ appid: app.appid })}`}>
        {t("Refused calls of this app")}
        {about}
      </a>
      {isActive && view.may(`${path}/test`) && (
        <a href={`${path}/test`}>
          {t("Send a test call")}
          {about}
        </a>
      )}
      {isActive && view.may(`${path}/rotate`) && (
        <a href={`${path}#rotate`}>
          {t("Rotate the secret")}
          {about}
        </a>
      )}
      {isOverlapping(app, view.now) && (
        <AskLink href={`${path}/end-overlap`}>
          {t("The old secret stops now")}…{about}
        </AskLink>
      )}
      {isActive && (
        <AskLink href={`${path}/revoke`}>
          {t("Revoke this app…")}
          {about}
        </AskLink>
      )}
    </RowMenu>
  );
}

export function AppState({ view, app }: { view: View; app: AppSummary }) {
  if (app.revokedAt !== null) return <Badge kind="bad" label={view.t("Revoked")} />;
  if (hasOverlap(app, view.now)) return <Badge kind="wait" label={view.t("Two secrets")} />;
  return <Badge kind="good" label={view.t("Active")} />;
}
