import type { Child } from "hono/jsx";
import { isVisible } from "../../../core/fields.ts";
import type { Agent } from "../../services/agents.ts";
import { withParameter } from "../console-path.ts";
import { Action } from "../parts/form.tsx";
import { Badge } from "../parts/parts.tsx";
import { RowMenu } from "../parts/row-menu.tsx";
import { Table } from "../parts/table.tsx";
import type { View } from "../view.ts";

/** The id of an agent's row. After a change the page scrolls to it and marks it. */
export const rowId = (id: number) => `agent-${id}`;

/** @param props `actions`: whether each agent has a menu of changes, for readers who may make them */
export function AgentTable(props: { view: View; siteId: number; agents: Agent[]; actions?: boolean; empty?: Child }) {
  const { view, siteId, agents, actions, empty } = props;
  const { t } = view;
  const head = [t("Name"), "ID", { label: t("Status"), phone: "top" as const }];
  return (
    <Table
      label={t("Agents")}
      head={actions ? [...head, { label: t("Actions"), phone: "top" as const, end: true as const }] : head}
      ids={agents.map(({ id }) => rowId(id))}
      rows={agents.map((agent) => {
        const cells = [
          <bdi>{nameOf(agent)}</bdi>,
          <code>{agent.id}</code>,
          agent.status === "normal" ? (
            <Badge kind="good" label={t("Normal")} />
          ) : (
            <Badge kind="off" label={t("Disabled")} />
          ),
        ];
        return actions ? [...cells, <AgentMenu view={view} siteId={siteId} agent={agent} />] : cells;
      })}
      empty={empty ?? t("No agents yet. Sessions need at least one.")}
    />
  );
}

const nameOf = ({ id, name }: Agent): string => (isVisible(name) ? name : `(${id})`);

function AgentMenu({ view, siteId, agent }: { view: View; siteId: number; agent: Agent }) {
  const { t } = view;
  const site = `/console/sites/${siteId}`;
  const path = `${site}/agents/${agent.id}`;
  const name = nameOf(agent);
  const isNormal = agent.status === "normal";
  // After a change, the menu leads back to this page of the list.
  const here = withParameter(view.here, "done");
  return (
    <RowMenu label={t("Actions for {0}", name)}>
      <a href={`${site}/sessions?agent=${agent.id}`}>
        {t("Sessions of this agent")}
        <span class="unseen"> {name}</span>
      </a>
      {view.may(path) && (
        <a href={withParameter(path, "back", here)}>
          {t("Rename")}
          <span class="unseen"> {name}</span>
        </a>
      )}
      <Action action={path} label={isNormal ? t("Disable") : t("Enable")} about={name}>
        <input type="hidden" name="status" value={isNormal ? "disabled" : "normal"} />
        <input type="hidden" name="back" value={here} />
      </Action>
    </RowMenu>
  );
}
