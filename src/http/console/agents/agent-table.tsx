import { isVisible } from "../../../fields.ts";
import type { Agent } from "../../../services/agents.ts";
import { withParameter } from "../console-path.ts";
import { Action } from "../parts/form.tsx";
import { Badge } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import type { View } from "../view.ts";

/** The id of the button that disables or enables an agent. After the change the page scrolls to this button. */
export const buttonId = (id: number) => `agent-${id}`;

/** @param props with `actions`, each agent has buttons that change it, for readers who may press them */
export function AgentTable({
  view,
  siteId,
  agents,
  actions,
}: {
  view: View;
  siteId: number;
  agents: Agent[];
  actions?: boolean;
}) {
  const { t } = view;
  const pathOf = (id: number) => `/console/sites/${siteId}/agents/${id}`;
  const changes = actions && agents.some(({ id }) => view.may(pathOf(id)));
  // After a change, the button leads back to this page of the list.
  const here = withParameter(view.here, "done");
  const head = [t("Name"), "ID", t("Status")];
  return (
    <Table
      label={t("Agents")}
      head={changes ? [...head, t("Change")] : head}
      rows={agents.map((agent) => {
        const path = pathOf(agent.id);
        const normal = agent.status === "normal";
        const name = isVisible(agent.name) ? agent.name : `(${agent.id})`;
        const cells = [
          <bdi>{name}</bdi>,
          agent.id,
          normal ? <Badge kind="good" label={t("Normal")} /> : <Badge kind="off" label={t("Disabled")} />,
        ];
        if (!changes) return cells;
        const change = (
          <div class="buttons">
            <a class="button plain" href={withParameter(path, "back", here)}>
              {t("Rename")}
              <span class="unseen"> {name}</span>
            </a>
            <Action
              view={view}
              action={path}
              label={normal ? t("Disable") : t("Enable")}
              about={name}
              id={buttonId(agent.id)}
            >
              <input type="hidden" name="status" value={normal ? "disabled" : "normal"} />
              <input type="hidden" name="back" value={here} />
            </Action>
          </div>
        );
        return [...cells, change];
      })}
      empty={t("No agents yet. Sessions need at least one.")}
    />
  );
}
