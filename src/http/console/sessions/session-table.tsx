import { isVisible } from "../../../fields.ts";
import type { SessionRow, SessionStatus } from "../../../services/sessions.ts";
import { Badge, type BadgeKind, Time } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import type { View } from "../view.ts";

export function SessionTable({ view, siteId, sessions }: { view: View; siteId: number; sessions: SessionRow[] }) {
  const { t } = view;
  return (
    <Table
      label={t("Sessions")}
      head={[t("Title"), "chat_id", t("Customer"), t("Status"), t("Created")]}
      rows={sessions.map((session) => [
        <a class="clip" href={`/console/sites/${siteId}/sessions/${session.id}`}>
          <bdi>{isVisible(session.title) ? session.title : `(${session.id})`}</bdi>
        </a>,
        session.id,
        <span class="pair">
          <bdi>{session.customerName}</bdi>{" "}
          <a href={`/console/sites/${siteId}/sessions?${new URLSearchParams({ sbs: session.customerExternalId })}`}>
            <bdi>{visibleSbs(session.customerExternalId)}</bdi>
          </a>
        </span>,
        <Status view={view} status={session.status} />,
        <Time view={view} at={session.createdAt} />,
      ])}
      empty={t("No sessions here.")}
    />
  );
}

/** The text of a link for a `sbs`. JSON of a `sbs` without visible characters has quotes, which can be clicked. */
export const visibleSbs = (sbs: string) => (isVisible(sbs) ? sbs : JSON.stringify(sbs));

/** The colours of statuses. A status that is not listed is grey. */
const KINDS: Partial<Record<SessionStatus, BadgeKind>> = { waiting: "wait", replied: "good" };

export const statusKind = (status: SessionStatus): BadgeKind => KINDS[status] ?? "off";

/** The text for the status of a session or a delivery. zh.json has the status with a capital letter. */
export const statusText = (view: View, status: string) => view.t(status.charAt(0).toUpperCase() + status.slice(1));

export function Status({ view, status }: { view: View; status: SessionStatus }) {
  return <Badge kind={statusKind(status)} label={statusText(view, status)} />;
}
