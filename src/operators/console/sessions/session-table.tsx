import { isVisible } from "../../../core/fields.ts";
import type { SessionRow, SessionStatus } from "../../services/sessions.ts";
import { Ago, Badge, type BadgeKind } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import type { View } from "../view.ts";

/** @param props `isOneCustomer`: all sessions are of one customer, whom the page already shows */
export function SessionTable(props: { view: View; siteId: number; sessions: SessionRow[]; isOneCustomer?: boolean }) {
  const { view, siteId, sessions, isOneCustomer = false } = props;
  const { t } = view;
  const site = `/console/sites/${siteId}`;
  return (
    <Table
      label={t("Sessions")}
      head={[
        t("Title"),
        ...(isOneCustomer ? [] : [t("Customer")]),
        { label: t("App and call"), phone: "hide" },
        { label: t("Status"), phone: "top" },
        t("Opened"),
      ]}
      rows={sessions.map((session) => [
        <span class="stack">
          <a class="clip" href={`${site}/sessions/${session.id}`}>
            <bdi>{isVisible(session.title) ? session.title : `(${session.id})`}</bdi>
          </a>
          <small>{session.id}</small>
        </span>,
        ...(isOneCustomer ? [] : [<Customer view={view} site={site} session={session} />]),
        <span class="stack">
          <bdi class="clip">{session.appName ?? session.appid}</bdi>
          {session.requestId !== null && <RequestLink view={view} site={site} requestId={session.requestId} />}
        </span>,
        <Status view={view} status={session.status} />,
        <Ago at={session.createdAt} />,
      ])}
      empty={t("No sessions here.")}
    />
  );
}

/** The link to a customer. Its address names one of their sessions, because no address may hold a customer's id. */
function Customer({ view, site, session }: { view: View; site: string; session: SessionRow }) {
  const { customerName, customerExternalId: sbs } = session;
  const path = `${site}/customers`;
  return (
    <span class="stack">
      {view.may(path, "GET") ? (
        <a class="clip" href={`${path}?chat_id=${session.id}`}>
          <bdi>{isVisible(customerName) ? customerName : showUnseen(sbs)}</bdi>
        </a>
      ) : (
        <bdi class="clip">{customerName}</bdi>
      )}
      <small>
        <bdi class="clip">{showUnseen(sbs)}</bdi>
      </small>
    </span>
  );
}

/** The link to a call shows the end of the request id, because calls of the same time have the same beginning. */
function RequestLink({ view, site, requestId }: { view: View; site: string; requestId: string }) {
  return (
    <small>
      <a href={`${site}/requests/${requestId}`} title={requestId}>
        <span class="unseen">{view.t("Request id")} </span>…{requestId.slice(-8)}
      </a>
    </small>
  );
}

/** The colours of statuses. Any other status is grey. */
const KINDS: Partial<Record<SessionStatus, BadgeKind>> = { waiting: "wait", replied: "good" };

export const statusKind = (status: SessionStatus): BadgeKind => KINDS[status] ?? "off";

/** The text for the status of a session or a delivery. zh.json has the status with a capital letter. */
export const statusText = (view: View, status: string) => view.t(status.charAt(0).toUpperCase() + status.slice(1));

export function Status({ view, status }: { view: View; status: SessionStatus }) {
  return <Badge kind={statusKind(status)} label={statusText(view, status)} />;
}
