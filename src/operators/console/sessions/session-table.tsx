import type { Child } from "hono/jsx";
import { isVisible } from "../../../core/fields.ts";
import { LOOKED_THROUGH, type SessionRow, type SessionStatus } from "../../services/sessions.ts";
import { Table } from "../parts/list.tsx";
import { Ago, Badge, type BadgeKind, MayLink, NameLink, RowMenu } from "../parts/parts.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import { useView, type View } from "../view.ts";

/** @param props `isOneCustomer`: all sessions are of one customer, whom the page already shows */
export function SessionTable(props: { siteId: number; sessions: SessionRow[]; isOneCustomer?: boolean }) {
  const view = useView();
  return <Table label={view.t("Sessions")} {...sessionColumns(view, props)} empty={view.t("No sessions here.")} />;
}

/** The columns of sessions, as a list or a table takes them. The call that opened a session is in its row's menu. */
export function sessionColumns(
  view: View,
  { siteId, sessions, isOneCustomer = false }: Parameters<typeof SessionTable>[0],
) {
  const { t } = view;
  const site = `/console/sites/${siteId}`;
  const titleOf = ({ id, title }: SessionRow) => (isVisible(title) ? title : `(${id})`);
  const top = { label: t("Status"), phone: "top" as const };
  const customer = ({ id, customerName, customerExternalId }: SessionRow) => (
    <Customer siteId={siteId} chatId={id} name={customerName} sbs={customerExternalId} />
  );
  return {
    head: [t("Title"), ...(isOneCustomer ? [] : [t("Customer")]), t("App"), top, t("Opened")],
    rows: sessions.map((session) => [
      <span class="stack">
        <NameLink class="clip" href={`${site}/sessions/${session.id}`} name={titleOf(session)} />
        <small>{session.id}</small>
      </span>,
      ...(isOneCustomer ? [] : [customer(session)]),
      <NameLink class="clip" href={`${site}/apps/${session.appid}`} name={session.appName ?? session.appid} />,
      <Status status={session.status} />,
      <Ago at={session.createdAt} />,
    ]),
    actions: sessions.map(
      (session) =>
        session.requestId !== null && (
          // Calls of the same time have the same beginning of their ids, so the end is shown.
          <RowMenu label={t("Actions for {0}", titleOf(session))}>
            <a href={`${site}/requests/${session.requestId}`} title={session.requestId}>
              {t("Request id")} …{session.requestId.slice(-8)}
            </a>
          </RowMenu>
        ),
    ),
  };
}

/** How far a bounded search looked, when it did not look at all sessions. */
export const lookedToText = ({ t, number }: View, lookedTo: number | null): Child =>
  lookedTo !== null && [
    t("{0} sessions were looked through, back to session {1}.", number(LOOKED_THROUGH), lookedTo),
    " ",
    t("The next page looks further back."),
  ];

/**
 * A customer by name and id. The address of their page names one of their sessions, because no address may hold a customer's id.
 *
 * @param props `ip`: shows the customer in full, with this address
 */
export function Customer(props: { siteId: number; chatId: number; name: string; sbs: string; ip?: string }) {
  const { siteId, chatId, name, sbs, ip } = props;
  return (
    <span class="stack">
      <MayLink class={ip ? undefined : "clip"} href={`/console/sites/${siteId}/customers?chat_id=${chatId}`}>
        <bdi>{isVisible(name) ? name : showUnseen(sbs)}</bdi>
      </MayLink>
      <small>
        <bdi class={ip ? "long" : "clip"}>{showUnseen(sbs)}</bdi>
        {ip && [" · ", <code>{ip}</code>]}
      </small>
    </span>
  );
}

/** The colours of statuses. Any other status is grey. */
const KINDS: Partial<Record<SessionStatus, BadgeKind>> = { waiting: "wait", replied: "good" };

export const statusKind = (status: SessionStatus): BadgeKind => KINDS[status] ?? "off";

/** The text for the status of a session or a delivery. zh.json has the status with a capital letter. */
export const statusText = (view: View, status: string) => view.t(status.charAt(0).toUpperCase() + status.slice(1));

export const Status = ({ status }: { status: SessionStatus }) => (
  <Badge kind={statusKind(status)} label={statusText(useView(), status)} />
);

/** An agent of a session. The name is null when the site no longer has the agent. */
interface NamedAgent {
  agentId: number;
  agentName: string | null;
}

/** An agent by name and id. */
export const AgentName = ({ agentId, agentName }: NamedAgent): Child =>
  agentName === null ? agentId : [<bdi>{agentName}</bdi>, ` (${agentId})`];

/** An agent that leads to its page, when the site still has the agent. */
export const AgentLink = ({ siteId, agentId, agentName }: NamedAgent & { siteId: number }): Child =>
  agentName === null ? (
    agentId
  ) : (
    <MayLink href={`/console/sites/${siteId}/agents/${agentId}`}>
      <AgentName agentId={agentId} agentName={agentName} />
    </MayLink>
  );

/** Agents, a line each. More than five are folded under the label. @param props `first` is a line that is never folded */
export function AgentList(props: { siteId: number; agents: NamedAgent[]; label: string; first?: Child }) {
  const { siteId, agents, label, first } = props;
  const isFolded = agents.length > 5;
  const lines = agents.map(({ agentId, agentName }) => (
    <li>
      <AgentLink siteId={siteId} agentId={agentId} agentName={agentName} />
    </li>
  ));
  return (
    <>
      {(first || !isFolded) && (
        <ul>
          {first && <li>{first}</li>}
          {!isFolded && lines}
        </ul>
      )}
      {isFolded && (
        <details class="people">
          <summary>{label}</summary>
          <ul tabindex={0} aria-label={label}>
            {lines}
          </ul>
        </details>
      )}
    </>
  );
}
