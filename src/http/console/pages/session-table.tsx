import { isVisible } from "../../../fields.ts";
import type { SessionRow, SessionStatus } from "../../../services/list-sessions.ts";
import { Badge, type BadgeKind, Time } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import type { View } from "../view.ts";

export function SessionTable({ v, siteId, sessions }: { v: View; siteId: number; sessions: SessionRow[] }) {
  const { t } = v;
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
        <Status v={v} status={session.status} />,
        <Time v={v} at={session.createdAt} />,
      ])}
      empty={t("No sessions here.")}
    />
  );
}

/** A link that can be clicked, whatever the caller sent. */
export const visibleSbs = (sbs: string) => (isVisible(sbs) ? sbs : JSON.stringify(sbs));

/** A status that is not named here is grey. */
const KINDS: Partial<Record<SessionStatus, BadgeKind>> = { waiting: "wait", replied: "good" };

export const statusKind = (status: SessionStatus): BadgeKind => KINDS[status] ?? "off";

/** The texts name each status by its capitalised name. */
export const statusText = (v: View, status: SessionStatus) => v.t(status.charAt(0).toUpperCase() + status.slice(1));

export function Status({ v, status }: { v: View; status: SessionStatus }) {
  return <Badge kind={statusKind(status)} label={statusText(v, status)} />;
}
