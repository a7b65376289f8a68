import { isVisible } from "../../../fields.ts";
import type { AppSummary } from "../../../services/apps.ts";
import { Badge, Time } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { hasOverlap } from "../secrets/overlap.ts";
import type { View } from "../view.ts";
import { LastUsedCell, LastUsedHint, type LastUses } from "./last-use.tsx";

/** @param props `uses` when the apps were last used; undefined when that could not be read */
export function AppTable(props: { view: View; siteId: number; apps: AppSummary[]; uses: LastUses | undefined }) {
  const { view, siteId, apps, uses } = props;
  const { t } = view;
  return (
    <>
      <Table
        label={t("Apps")}
        head={[t("Name"), "appid", t("State"), t("Issued"), t("Last used")]}
        rows={apps.map((app) => [
          <a href={`/console/sites/${siteId}/apps/${app.appid}`}>
            <bdi>{isVisible(app.name) ? app.name : `(${app.appid})`}</bdi>
          </a>,
          <code>{app.appid}</code>,
          <AppState view={view} app={app} />,
          <Time view={view} at={app.createdAt} />,
          <LastUsedCell view={view} uses={uses} appid={app.appid} />,
        ])}
        empty={t("No apps yet. Issue one to get an appid and a secret.")}
      />
      {apps.length > 0 && <LastUsedHint view={view} uses={uses} />}
    </>
  );
}

export function AppState({ view, app }: { view: View; app: AppSummary }) {
  if (app.revokedAt !== null) return <Badge kind="bad" label={view.t("Revoked")} />;
  if (hasOverlap(app, view.now)) return <Badge kind="wait" label={view.t("Two secrets")} />;
  return <Badge kind="good" label={view.t("Active")} />;
}
