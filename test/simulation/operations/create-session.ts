import type { Row } from "../platform/database.ts";
import { agentsIn, type Fields, type OperationModel, type RequestSender, type WrittenRow } from "./shared/model.ts";

interface CreateSessionFields {
  customer: { id: string; name: string; ip: string };
  content: string;
  agents: number[];
  responsible: number;
  sender: 1 | 2 | 3;
  metadata: object | null;
  /** The optional fields in {@link PLAIN}, as they were sent. */
  plain: Record<string, string | null>;
}

/** Messages of customers: one sentence or more, in several scripts. */
const SENTENCES = [
  "is late.",
  "is late. Please help me! It was promised for Monday.",
  "没有到。请帮我看一下。",
  "came broken 😭, and nobody answers",
  "is  not\nwhat I ordered?",
];

const ADDRESSES = ["203.0.113.7", "2001:db8::17", "198.51.100.200"];

/** Optional texts that the session stores unchanged, each with its columns and valid values. */
const PLAIN: Record<string, { columns: string[]; right: string[] }> = {
  title: {
    columns: ["visitor_title", "agent_title"],
    right: ["标", "Order of a title"],
  },
};

/** The state of a new session by the sender of its first message: sections 3 and 4.1. */
const openingOf = ({ sender, responsible }: CreateSessionFields) =>
  ({
    1: { status: "waiting", sender: "visitor", sender_uid: null },
    2: { status: "replied", sender: "agent", sender_uid: responsible },
    3: { status: "waiting", sender: "agent", sender_uid: 0 },
  })[sender];

/** The metadata with its names in order, because their order has no meaning. */
const sortedByName = (metadata: object): object =>
  Object.fromEntries(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1)));

const rowsOf = (rows: WrittenRow[], name: string): Row[] =>
  rows.filter(({ table }) => table === name).map(({ after }) => after);

/** The stored session in the form of the event: SessionDetail of openapi.json. */
function shownMessages(rows: WrittenRow[]): object {
  const [[session = {}], [customer = {}]] = [rowsOf(rows, "sessions"), rowsOf(rows, "customers")];
  const { id, kind, status, responsible_agent_id, created_at, auto_title, customer_external_id, metadata } = session;
  const plain = Object.values(PLAIN).flatMap(({ columns }) => columns.map((column) => [column, session[column]]));
  const joinedRows = rowsOf(rows, "participants").toSorted((a, b) => Number(a.agent_id) - Number(b.agent_id));
  return {
    chat_id: id,
    kind,
    status,
    responsible_agent_id,
    created_at,
    ...Object.fromEntries(plain),
    auto_title,
    metadata: metadata == null ? {} : (JSON.parse(String(metadata)) as object),
    customer: { sbs: customer_external_id, name: customer.name, ip: customer.ip },
    participants: joinedRows.map(({ agent_id, added_by }) => ({ agent_id, added_by })),
    messages: rowsOf(rows, "messages").map(({ sender, sender_uid, content }) => ({ sender, sender_uid, content })),
  };
}

function ask({ chance, site, nextOrder }: RequestSender): Fields {
  const kefu_id = [...chance.some(site.agentIds, 0.3), chance.one(site.agentIds)];
  const order = nextOrder();
  const fields: Fields = {
    sbs: chance.happens(0.03) ? 1001 : `customer_${chance.integer(1, 6)}`,
    sbs_mc: `Customer ${order}`,
    ip: chance.one(ADDRESSES),
    content: `Order ${order} ${chance.one(SENTENCES)}`,
    kefu_id,
    fzr_uid: chance.one(kefu_id),
    ...(chance.happens(0.5) && { sender_type: chance.one([1, 2, 3]) }),
    ...(chance.happens(0.2) && { metadata: { order, channel: "app" } }),
  };
  for (const [name, { right }] of Object.entries(PLAIN)) if (chance.happens(0.3)) fields[name] = chance.one(right);
  return fields;
}

/** The operation of section 4.1. */
const model: OperationModel<CreateSessionFields> = {
  name: "create_session",
  wireName: "create_gd",

  ask,

  read({ sbs, ip, sbs_mc, content, kefu_id, fzr_uid, sender_type = 2, metadata = null, ...rest }) {
    const plain = Object.fromEntries(Object.keys(PLAIN).map((each) => [each, (rest[each] ?? null) as string | null]));
    return {
      customer: { id: String(sbs), name: String(sbs_mc), ip: String(ip) },
      content: String(content),
      agents: agentsIn(kefu_id),
      responsible: Number(fzr_uid),
      sender: sender_type as 1 | 2 | 3,
      plain,
      metadata: metadata === null ? null : sortedByName(metadata as object),
    };
  },

  refusals: {
    agents_invalid: {
      status: 400,
      msg: "参数错误",
      ask: (asker) => ({ ...ask(asker), kefu_id: [777, 10_411], fzr_uid: 10_411 }),
    },
  },

  decide({ home, app: { siteId } }, { agents }) {
    if (agents.some((id) => home.agents.get(`${siteId}/${id}`)?.status !== "normal")) return "agents_invalid";
    return { sessionId: home.highestId(siteId) + 1 };
  },

  rows({ home, app: { siteId: site_id, appid }, clock }, input, { sessionId: session_id }) {
    const { customer, content, agents, responsible, metadata, plain } = input;
    const { status, ...from } = openingOf(input);
    const { id: external_id, name, ip } = customer;
    const created_at = home.customers.get(`${site_id}/${external_id}`)?.created_at ?? clock;
    const texts = Object.entries(PLAIN).flatMap(([field, { columns }]) => columns.map((each) => [each, plain[field]]));
    const session: Row = {
      site_id,
      id: session_id,
      appid,
      kind: "ticket",
      customer_external_id: external_id,
      responsible_agent_id: responsible,
      status,
      created_at: clock,
      ...(Object.fromEntries(texts) as Row),
      metadata: metadata === null ? null : JSON.stringify(metadata),
    };
    const others = agents.filter((id) => id !== responsible);
    return [
      { table: "customers", after: { site_id, external_id, name, ip, created_at, updated_at: clock } },
      { table: "sessions", after: session },
      ...others.map((agent_id) => ({
        table: "participants",
        after: { site_id, session_id, agent_id, added_by: responsible, added_at: clock },
      })),
      { table: "messages", after: { site_id, session_id, seq: 1, ...from, content, created_at: clock } },
    ];
  },

  event: { type: "session.created", data: (_, __, rows) => shownMessages(rows) },

  answer: (chat_id) => ({ chat_id }),

  learn(site, data) {
    const { chat_id } = (data ?? {}) as { chat_id?: number };
    if (chat_id !== undefined) site.chatIds.push(chat_id);
  },
};

export default model;
