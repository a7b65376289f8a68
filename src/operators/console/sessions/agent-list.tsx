import type { Child } from "hono/jsx";
import { MayLink } from "../parts/parts.tsx";

/** How many agents are shown at once. More are folded. */
const MOST_SHOWN = 5;

export interface NamedAgent {
  agentId: number;
  /** Null when the site no longer has the agent. */
  agentName: string | null;
}

/** An agent by name and id. */
export function AgentName({ agentId, agentName }: NamedAgent): Child {
  if (agentName === null) return agentId;
  return (
    <>
      <bdi>{agentName}</bdi> ({agentId})
    </>
  );
}

/** An agent that leads to its page, when the site still has the agent. */
export function AgentLink({ siteId, ...agent }: NamedAgent & { siteId: number }) {
  const name = <AgentName {...agent} />;
  return agent.agentName === null ? (
    name
  ) : (
    <MayLink href={`/console/sites/${siteId}/agents/${agent.agentId}`}>{name}</MayLink>
  );
}

/** Agents, a line each. More than five are folded under the label. @param props `first` is a line that is never folded */
export function AgentList(props: { siteId: number; agents: NamedAgent[]; label: string; first?: Child }) {
  const { siteId, agents, label, first } = props;
  const isFolded = agents.length > MOST_SHOWN;
  const lines = agents.map((agent) => (
    <li>
      <AgentLink siteId={siteId} agentId={agent.agentId} agentName={agent.agentName} />
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
