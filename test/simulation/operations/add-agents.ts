import type { HomeModel, Session } from "../checker/home-model.ts";
import { agentsIn, type Fields, type OperationModel, type RequestSender } from "./shared/model.ts";

interface AddAgentsFields {
  chatId: number;
  agents: number[];
}

/** Why a requested agent is not added; undefined when it is. */
function whyIgnored(home: HomeModel, siteId: number, session: Session, id: number): string | undefined {
  if (session.row.responsible_agent_id === id || session.participants.has(id)) return "already on the session";
  const agent = home.agents.get(`${siteId}/${id}`);
  if (agent === undefined) return "unknown";
  return agent.status === "normal" ? undefined : "disabled";
}

/** A session, and agents to add to it: any number of them, sometimes of another site or unknown. */
export function drawJoin({ chance, site, foreignChatIds }: RequestSender): { chatId: number; agentIds: number[] } {
  const chatIds = chance.happens(0.06) && foreignChatIds.length > 0 ? foreignChatIds : site.chatIds.slice(-6);
  const chatId = chatIds.length === 0 || chance.happens(0.03) ? 77_000_000 : chance.one(chatIds);
  return { chatId, agentIds: [...chance.some(site.agentIds, 0.4), ...(chance.happens(0.1) ? [777] : [])] };
}

function ask(asker: RequestSender): Fields {
  const { chance, site } = asker;
  const { chatId: chat_id, agentIds } = drawJoin(asker);
  const kefu_ids = agentIds.length > 0 ? agentIds : [chance.one(site.agentIds)];
  return { chat_id, kefu_ids: chance.happens(0.5) ? kefu_ids : kefu_ids.join(",") };
}

/** Fields for a session that is known to meet the refusal. */
const askFor =
  (refusal: string) =>
  (asker: RequestSender): Fields | undefined => {
    const refusedSessions = asker.site.refusedSessions.get(refusal) ?? [];
    return refusedSessions.length === 0 ? undefined : { ...ask(asker), chat_id: asker.chance.one(refusedSessions) };
  };

const FORBIDS = { status: 409, msg: "当前状态不允许操作" };

/** The operation of section 4.2. */
const model: OperationModel<AddAgentsFields> = {
  name: "add_agents",
  wireName: "add_kf",

  ask,

  read: ({ chat_id, kefu_ids }) => ({
    chatId: Number(chat_id),
    agents: agentsIn(typeof kefu_ids === "string" ? kefu_ids.split(",") : kefu_ids),
  }),

  refusals: {
    session_not_found: { status: 404, msg: "会话不存在", ask: (asker) => ({ ...ask(asker), chat_id: 77_000_000 }) },
    not_a_ticket: {
      ...FORBIDS,
      ask: askFor("not_a_ticket"),
      byHand: "UPDATE sessions SET kind = 'chat' WHERE site_id = ? AND id = ?",
    },
    no_responsible_agent: {
      ...FORBIDS,
      ask: askFor("no_responsible_agent"),
      byHand: "UPDATE sessions SET responsible_agent_id = NULL WHERE site_id = ? AND id = ?",
    },
    no_new_agents: { ...FORBIDS, ask: (asker) => ({ ...ask(asker), kefu_ids: "777" }) },
  },

  decide({ home, app: { siteId } }, { chatId, agents }) {
    const session = home.sessions.get(`${siteId}/${chatId}`);
    if (session === undefined) return "session_not_found";
    if (session.row.kind !== "ticket") return "not_a_ticket";
    if (session.row.responsible_agent_id === null) return "no_responsible_agent";
    const ignoredIds = agents.flatMap((id) => {
      const why = whyIgnored(home, siteId, session, id);
      return why === undefined ? [] : [`${id} ${why}`];
    });
    return ignoredIds.length === agents.length ? "no_new_agents" : { sessionId: chatId, ignored: ignoredIds };
  },

  rows({ home, app: { siteId: site_id }, clock: added_at }, { chatId: session_id, agents }) {
    const session = home.sessions.get(`${site_id}/${session_id}`) as Session;
    const added_by = Number(session.row.responsible_agent_id);
    return agents
      .filter((id) => whyIgnored(home, site_id, session, id) === undefined)
      .map((agent_id) => ({ table: "participants", after: { site_id, session_id, agent_id, added_by, added_at } }));
  },

  event: {
    type: "session.agents_added",
    data({ home, app }, { chatId }, rows) {
      const session = home.sessions.get(`${app.siteId}/${chatId}`);
      const joinedRows = rows.filter(({ table }) => table === "participants");
      const agent_ids = agentsIn(joinedRows.map(({ after }) => after.agent_id));
      return { chat_id: chatId, agent_ids, added_by: session?.row.responsible_agent_id };
    },
  },

  answer: () => "",
};

export default model;
