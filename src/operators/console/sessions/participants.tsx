import type { StoredSession } from "../../services/sessions.ts";
import { Badge } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { AgentName } from "./agent-name.tsx";

/** How many agents the page shows at once. More are folded. */
const MOST_SHOWN = 5;

/** The agents of a session. The responsible agent comes first, and need not be a participant. */
export function Participants({ view, siteId, stored }: { view: View; siteId: number; stored: StoredSession }) {
  const { t } = view;
  const { session, participants } = stored;
  const responsible = session.responsibleAgentId;
  const otherAgents = participants.filter(({ agentId }) => agentId !== responsible);
  const pathOf = (id: number, name: string | null) => {
    const path = `/console/sites/${siteId}/agents/${id}`;
    return name !== null && view.may(path, "GET") ? path : undefined;
  };
  const first = responsible !== null && (
    <li>
      <AgentName
        id={responsible}
        name={session.responsibleAgentName}
        href={pathOf(responsible, session.responsibleAgentName)}
      />{" "}
      <Badge kind="good" label={t("Responsible")} />
    </li>
  );
  const rest = otherAgents.map(({ agentId, agentName }) => (
    <li>
      <AgentName id={agentId} name={agentName} href={pathOf(agentId, agentName)} />
    </li>
  ));
  const count = new Intl.NumberFormat(view.language).format(rest.length);
  if (rest.length === 0) return first ? <ul>{first}</ul> : <>–</>;
  if (rest.length <= MOST_SHOWN)
    return (
      <ul>
        {first}
        {rest}
      </ul>
    );
  const label = first ? t("{0} more agents", count) : t("{0} agents", count);
  return (
    <>
      {first && <ul>{first}</ul>}
      <details class="people">
        <summary>{label}</summary>
        <ul tabindex={0} aria-label={label}>
          {rest}
        </ul>
      </details>
    </>
  );
}
