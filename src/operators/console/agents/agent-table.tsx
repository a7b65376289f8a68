import type { Child } from "hono/jsx";
import { isVisible } from "../../../core/fields.ts";
import type { Agent } from "../../services/agents.ts";
import { withParameter } from "../console-path.ts";
import { Action, Hidden } from "../parts/form.tsx";
import { Badge, RowMenu } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { useView, type View } from "../view.ts";

export const agentPath = (siteId: number, id: number): string => `/console/sites/${siteId}/agents/${id}`;

/** The id of an agent's row. After a change the page scrolls to it and marks it. */
export const rowId = (id: number) => `agent-${id}`;

/** The columns and rows of agents, as a list takes them. */
export const agentRows = ({ t }: View, siteId: number, agents: Agent[]) => ({
  label: t("Agents"),
  head: [t("Name"), "ID", { label: t("Status"), phone: "top" as const }],
  ids: agents.map(({ id }) => rowId(id)),
  rows: agents.map((agent) => [
    <a class="clip" href={agentPath(siteId, agent.id)}>
      <bdi>{nameOf(agent)}</bdi>
    </a>,
    <code>{agent.id}</code>,
    <AgentStatus agent={agent} />,
  ]),
});

export function AgentTable({ siteId, agents, empty }: { siteId: number; agents: Agent[]; empty?: Child }) {
  const view = useView();
  const noAgents = view.t("No agents yet. Sessions need at least one.");
  return <Table {...agentRows(view, siteId, agents)} empty={empty ?? noAgents} />;
}

export function AgentStatus({ agent: { status } }: { agent: Agent }) {
  const { t } = useView();
  return status === "normal" ? <Badge kind="good" label={t("Normal")} /> : <Badge kind="off" label={t("Disabled")} />;
}

/** An agent's name, or the id of one whose name nobody sees. */
export const nameOf = ({ id, name }: Agent): string => (isVisible(name) ? name : `(${id})`);

/** What can be done to an agent of the list. */
export function AgentMenu({ siteId, agent }: { siteId: number; agent: Agent }) {
  const { t, may, here: address } = useView();
  const path = agentPath(siteId, agent.id);
  const name = nameOf(agent);
  const isNormal = agent.status === "normal";
  // After a change, the menu leads back to this page of the list.
  const here = withParameter(address, "done");
  return (
    <RowMenu label={t("Actions for {0}", name)}>
      <a href={`/console/sites/${siteId}/sessions?agent=${agent.id}`}>
        {t("Sessions of this agent")}
        <span class="unseen"> {name}</span>
      </a>
      {may(path) && (
        <a href={withParameter(path, "back", here)}>
          {t("Rename")}
          <span class="unseen"> {name}</span>
        </a>
      )}
      <Action action={path} label={isNormal ? t("Disable") : t("Enable")} about={name}>
        <Hidden values={{ status: isNormal ? "disabled" : "normal", back: here }} />
      </Action>
    </RowMenu>
  );
}
