import type { HomeModel, Session } from "../checker/home-model.ts";
import type { Asker, Fields, OperationModel } from "./shared/model.ts";
import { agentsIn, ids, written } from "./shared/rules.ts";

interface Asked {
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

/** docs/contract.md: ids between commas; blanks around them are allowed. */
const listed = (list: string): unknown[] =>
  list.split(",").map((item) => {
    const id = item.replaceAll(/^[ \t]+|[ \t]+$/g, "");
    return String(Number(id)) === id ? Number(id) : undefined;
  });

function ask({ chance, site, foreignChatIds }: Asker): Fields {
  const known = chance.happens(0.06) && foreignChatIds.length > 0 ? foreignChatIds : site.chatIds.slice(-6);
  const chat_id = known.length === 0 || chance.happens(0.03) ? 77_000_000 : chance.one(known);
  const asked = [...chance.some(site.agentIds, 0.4), ...(chance.happens(0.1) ? [777] : [])];
  const kefu_ids = asked.length > 0 ? asked : [chance.one(site.agentIds)];
  return { chat_id, kefu_ids: chance.happens(0.5) ? kefu_ids : kefu_ids.join(",") };
}

/** Fields for a session that is known to meet the refusal. */
const askFor =
  (refusal: string) =>
  (asker: Asker): Fields | undefined => {
    const known = asker.site.refusedSessions.get(refusal) ?? [];
    return known.length === 0 ? undefined : { ...ask(asker), chat_id: asker.chance.one(known) };
  };

const FORBIDS = { status: 409, msg: "当前状态不允许操作" };

/** The operation of section 4.2. */
const model: OperationModel<Asked> = {
  name: "add_agents",
  wireName: "add_kf",

  ask,

  malformed: [
    { chat_id: "1" },
    { chat_id: 1.5 },
    { chat_id: null },
    { chat_id: undefined },
    { chat_id: written("9007199254740993") },
    { chat_id: written("-9007199254740993") },
    { kefu_ids: "" },
    { kefu_ids: "," },
    { kefu_ids: "10411,,10412" },
    { kefu_ids: "0" },
    { kefu_ids: "010411" },
    { kefu_ids: "10411;10412" },
    { kefu_ids: "10411,10412," },
    { kefu_ids: "1e3" },
    { kefu_ids: "10 411" },
    { kefu_ids: "9007199254740993" },
    { kefu_ids: [written("9007199254740993")] },
    { kefu_ids: "\u00a010411" },
    { kefu_ids: [] },
    { kefu_ids: [0] },
    { kefu_ids: ["10411"] },
    { kefu_ids: ids(101) },
    { kefu_ids: ids(101).join(",") },
    { kefu_ids: 10_411 },
    { kefu_ids: null },
  ],

  extreme: [
    { kefu_ids: " 10411 ,\t10412 " },
    { kefu_ids: [10_411, 10_411] },
    { kefu_ids: ids(100) },
    { kefu_ids: [...ids(100), 1].join(",") },
    { kefu_ids: [...ids(100), 1] },
    { kefu_ids: "9007199254740991" },
    { chat_id: 0 },
    { chat_id: -1 },
    { chat_id: Number.MAX_SAFE_INTEGER },
  ],

  read({ chat_id, kefu_ids }) {
    const agents = agentsIn(typeof kefu_ids === "string" ? listed(kefu_ids) : kefu_ids);
    return Number.isSafeInteger(chat_id) && agents !== undefined ? { chatId: chat_id as number, agents } : undefined;
  },

  refusals: {
    session_not_found: {
      status: 404,
      msg: "会话不存在",
      detail: /^chat_id: no such session on this site$/,
      ask: (asker) => ({ ...ask(asker), chat_id: 77_000_000 }),
    },
    not_a_ticket: {
      ...FORBIDS,
      detail: /^chat_id: is not a ticket session$/,
      ask: askFor("not_a_ticket"),
      byHand: "UPDATE sessions SET kind = 'chat' WHERE site_id = ? AND id = ?",
    },
    no_responsible_agent: {
      ...FORBIDS,
      detail: /^chat_id: the session has no responsible agent$/,
      ask: askFor("no_responsible_agent"),
      byHand: "UPDATE sessions SET responsible_agent_id = NULL WHERE site_id = ? AND id = ?",
    },
    no_new_agents: {
      ...FORBIDS,
      detail: /^kefu_ids: nobody to add: (\d+ |the agents have changed meanwhile$)/,
      ask: (asker) => ({ ...ask(asker), kefu_ids: "777" }),
    },
  },

  decide({ home, app: { siteId } }, { chatId, agents }) {
    const session = home.sessions.get(`${siteId}/${chatId}`);
    if (session === undefined) return "session_not_found";
    if (session.row.kind !== "ticket") return "not_a_ticket";
    if (session.row.responsible_agent_id === null) return "no_responsible_agent";
    const ignored = agents.flatMap((id) => {
      const why = whyIgnored(home, siteId, session, id);
      return why === undefined ? [] : [`${id} ${why}`];
    });
    return ignored.length === agents.length ? "no_new_agents" : { sessionId: chatId, ignored };
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
      const agent_ids = rows.map(({ after }) => Number(after.agent_id)).sort((a, b) => a - b);
      return { chat_id: chatId, agent_ids, added_by: session?.row.responsible_agent_id };
    },
  },

  answer: () => "",
};

export default model;
