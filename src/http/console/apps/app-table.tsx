import { isVisible } from "../../../fields.ts";
import type { AppSummary } from "../../../services/apps.ts";
import { Badge, Time } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { hasOverlap } from "../secrets/overlap.ts";
import type { View } from "../view.ts";

export function AppTable({ view, siteId, apps }: { view: View; siteId: number; apps: AppSummary[] }) {
  const { t } = view;
  return (
    <Table
      label={t("Apps")}
      head={[t("Name"), "appid", t("State"), t("Issued")]}
      rows={apps.map((app) => [
        <a href={`/console/sites/${siteId}/apps/${app.appid}`}>
          <bdi>{isVisible(app.name) ? app.name : `(${app.appid})`}</bdi>
        </a>,
        <code>{app.appid}</code>,
        <AppState view={view} app={app} />,
        <Time view={view} at={app.createdAt} />,
      ])}
      empty={t("No apps yet. Issue one to get an appid and a secret.")}
    />
  );
}

export function AppState({ view, app }: { view: View; app: AppSummary }) {
  if (app.revokedAt !== null) return <Badge kind="bad" label={view.t("Revoked")} />;
  if (hasOverlap(app, view.now)) return <Badge kind="wait" label={view.t("Two secrets")} />;
  return <Badge kind="good" label={view.t("Active")} />;
}
