import { isVisible } from "../../../fields.ts";
import type { AppSummary } from "../../../services/list-apps.ts";
import { Badge, Time } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import type { View } from "../view.ts";

export function AppTable({ v, siteId, apps }: { v: View; siteId: number; apps: AppSummary[] }) {
  const { t } = v;
  return (
    <Table
      label={t("Apps")}
      head={[t("Name"), "appid", t("State"), t("Issued")]}
      rows={apps.map((app) => [
        <a href={`/console/sites/${siteId}/apps/${app.appid}`}>
          <bdi>{isVisible(app.name) ? app.name : `(${app.appid})`}</bdi>
        </a>,
        <code>{app.appid}</code>,
        <AppState v={v} app={app} />,
        <Time v={v} at={app.createdAt} />,
      ])}
      empty={t("No apps yet. Issue one to get an appid and a secret.")}
    />
  );
}

export function AppState({ v, app }: { v: View; app: AppSummary }) {
  if (app.revokedAt !== null) return <Badge kind="bad" label={v.t("Revoked")} />;
  if (hasOverlap(app, v.now)) return <Badge kind="wait" label={v.t("Two secrets")} />;
  return <Badge kind="good" label={v.t("Active")} />;
}

/** Whether the secret before still verifies. */
export const hasOverlap = ({ previousExpiresAt }: AppSummary, now: number) => (previousExpiresAt ?? 0) > now;
