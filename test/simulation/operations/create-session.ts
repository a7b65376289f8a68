import { isIP } from "node:net";
import type { Row } from "../platform/database.ts";
import { titleOf } from "./shared/auto-title.ts";
import type { Asker, ExpectedRow, Fields, OperationModel } from "./shared/model.ts";
import { agentsIn, ids, isId, isText, LONE_SURROGATE, text, written } from "./shared/rules.ts";
import { shownSession } from "./shared/shown-session.ts";

interface Asked {
  customer: { id: string; name: string; ip: string };
  content: string;
  agents: number[];
  responsible: number;
  sender: 1 | 2 | 3;
  metadata: Record<string, string> | null;
  /** The optional fields below, as they were sent. */
  plain: Record<string, string | null>;
}

/** Messages of customers: one sentence or more, in several scripts. */
const SENTENCES = [
  "is late.",
  "is late. Please help me! It was promised for Monday.",
  "没有到。请帮我看一下。",
  "came broken 😭, and nobody answers",
  "is  not\nwhat I ordered?",
] as const;

const ADDRESSES = ["203.0.113.7", "2001:db8::17", "198.51.100.200"] as const;

/**
 * Optional texts that are stored with the session unchanged, and shown under the names of their columns. The accepted
 * and refused values are sent as they stand here.
 */
const PLAIN: Record<
  string,
  { columns: string[]; accepts(value: unknown): boolean; right: string[]; wrong: unknown[] }
> = {
  title: {
    columns: ["visitor_title", "agent_title"],
    accepts: (value) => isText(value, 120),
    right: [text(120), "标", "Order of a title"],
    wrong: ["", text(121), null],
  },
};

const plainFields = <Value>(valuesOf: (rules: (typeof PLAIN)[string]) => readonly Value[]): Fields[] =>
  Object.entries(PLAIN).flatMap(([name, rules]) => valuesOf(rules).map((value) => ({ [name]: value })));

const pairs = (count: number, name = 3, value = 3): Record<string, string> =>
  Object.fromEntries(ids(count).map((i) => [String(i).padStart(name, "n"), text(value)]));

/** An extension of the contract: docs/contract.md, "metadata". */
function isMetadata(value: unknown): value is Record<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const all = Object.entries(value as Fields);
  const isPair = ([name, each]: [string, unknown]) =>
    /^[A-Za-z0-9_.-]{1,40}$/.test(name) && (each === "" || isText(each, 500));
  return all.length <= 20 && all.every(isPair);
}

/** The order of its names does not matter. */
const sorted = (metadata: Record<string, string>) =>
  Object.fromEntries(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1)));

/** docs/decisions.md: an integer as it was written, digit for digit. */
const customerIdOf = (sbs: unknown, digits: string | undefined): unknown => {
  if (typeof sbs !== "number") return sbs;
  return digits !== undefined && /^-?\d+$/.test(digits) ? digits : undefined;
};

/** The state of a new session by the sender of its first message: sections 3 and 4.1. */
const openingOf = ({ sender, responsible }: Asked) =>
  ({
    1: { status: "waiting", sender: "visitor", sender_uid: null },
    2: { status: "replied", sender: "agent", sender_uid: responsible },
    3: { status: "waiting", sender: "agent", sender_uid: 0 },
  })[sender];

const rowsOf = (rows: ExpectedRow[], name: string): Row[] =>
  rows.filter(({ table }) => table === name).map(({ after }) => after);

function ask({ chance, site, nextOrder }: Asker): Fields {
  const kefu_id = [...chance.some(site.agentIds, 0.3), chance.one(site.agentIds)];
  const order = nextOrder();
  const fields: Fields = {
    sbs: `customer_${chance.integer(1, 6)}`,
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
const model: OperationModel<Asked> = {
  name: "create_session",
  wireName: "create_gd",

  ask,

  malformed: [
    ...plainFields(({ wrong }) => wrong),
    { content: "" },
    { content: text(2001) },
    { content: LONE_SURROGATE },
    { content: null },
    { sbs: "" },
    { sbs: text(65) },
    { sbs: 1.5 },
    { sbs: true },
    { sbs: written("1e3") },
    { sbs: written("1.0") },
    { sbs: written("9".repeat(65)) },
    { sbs_mc: "" },
    { sbs_mc: text(31) },
    { sbs_mc: undefined },
    { ip: "" },
    { ip: "300.1.1.1" },
    { ip: "1.2.3.4.5" },
    { ip: "fe80::1::2" },
    { sender_type: 0 },
    { sender_type: 4 },
    { sender_type: "1" },
    { sender_type: null },
    { fzr_uid: 1 },
    { fzr_uid: "10411" },
    { fzr_uid: written("9007199254740993") },
    { kefu_id: [] },
    { kefu_id: [0, 10_411] },
    { kefu_id: ["10411"] },
    { kefu_id: "10411" },

    { kefu_id: ids(101), fzr_uid: 1 },
    { kefu_id: [10_411, written("9007199254740993")], fzr_uid: 10_411 },

    { metadata: pairs(21) },
    { metadata: pairs(1, 41) },
    { metadata: pairs(1, 3, 501) },
    { metadata: { order: 7 } },
    { metadata: { "a b": "" } },
    { metadata: [] },
    { metadata: null },
    { metadata: "order" },
  ],

  extreme: [
    ...plainFields(({ right }) => right),
    { content: text(2000) },
    { content: text(2000, "一") },
    { content: text(2000, "😀") },
    { content: "a\u0000b" },
    { content: " \n\t " },
    { content: text(60, "👩‍👩‍👧") },
    { content: `${text(38)} e\u0301e\u0301e\u0301` },
    { sbs: text(64) },
    { sbs: 1001 },
    { sbs: 0 },
    { sbs: -5 },
    { sbs: written("9007199254740993") },
    { sbs: written("9".repeat(64)) },
    { sbs_mc: text(30, "😀") },
    { ip: "0.0.0.0" },
    { ip: "::ffff:192.0.2.1" },
    { sender_type: 1 },
    { sender_type: 2 },
    { sender_type: 3 },
    { kefu_id: ids(100), fzr_uid: 1 },

    { kefu_id: [10_411, 10_411], fzr_uid: 10_411 },
    { kefu_id: [Number.MAX_SAFE_INTEGER, 10_411], fzr_uid: 10_411 },
    { metadata: {} },
    { metadata: pairs(20, 40, 500) },
    { metadata: { empty: "" } },

    { unknown: { nested: [1] }, chat_id: "x" },
    { sbs: 1001, unknown: { nested: 1, sbs: 7 } },
  ],

  read({ sbs, ip, sbs_mc: name, content, kefu_id, fzr_uid: responsible, sender_type = 2, metadata, ...rest }, numbers) {
    const id = customerIdOf(sbs, numbers.get("sbs"));
    if (!isText(id, 64) || typeof ip !== "string" || isIP(ip) === 0 || !isText(name, 30)) return undefined;
    const agents = agentsIn(kefu_id);
    if (!isText(content, 2000) || agents === undefined || !isId(responsible) || !agents.includes(responsible))
      return undefined;
    if (sender_type !== 1 && sender_type !== 2 && sender_type !== 3) return undefined;
    if (metadata !== undefined && !isMetadata(metadata)) return undefined;
    if (Object.entries(PLAIN).some(([each, { accepts }]) => rest[each] !== undefined && !accepts(rest[each])))
      return undefined;
    const plain = Object.fromEntries(Object.keys(PLAIN).map((each) => [each, (rest[each] ?? null) as string | null]));
    return {
      customer: { id, name, ip },
      content,
      agents,
      responsible,
      sender: sender_type,
      plain,
      metadata: metadata === undefined ? null : sorted(metadata),
    };
  },

  refusals: {
    agents_invalid: {
      status: 400,
      msg: "参数错误",
      detail:
        /^kefu_id: (\d+ (unknown|disabled)(, \d+ (unknown|disabled))*(, and \d+ more)?|the agents have changed meanwhile)$/,
      ask: (asker) => ({ ...ask(asker), kefu_id: [777, 10_411], fzr_uid: 10_411 }),
    },
  },

  decide({ home, app: { siteId } }, { agents }) {
    if (agents.some((id) => home.agents.get(`${siteId}/${id}`)?.status !== "normal")) return "agents_invalid";
    return { sessionId: home.highestId(siteId) + 1 };
  },

  rows({ home, app: { siteId: site_id, appid }, clock }, asked, { sessionId: session_id }) {
    const { customer, content, agents, responsible, metadata, plain } = asked;
    const { status, ...from } = openingOf(asked);
    const { id: external_id, name, ip } = customer;
    const created_at = home.customers.get(`${site_id}/${external_id}`)?.created_at ?? clock;
    const columns = Object.entries(PLAIN).flatMap(([field, rules]) =>
      rules.columns.map((column) => [column, plain[field] ?? null] as const),
    );
    const session: Row = {
      site_id,
      id: session_id,
      appid,
      kind: "ticket",
      customer_external_id: external_id,
      responsible_agent_id: responsible,
      status,
      auto_title: titleOf(content),
      created_at: clock,
      ...Object.fromEntries(columns),
      metadata: metadata === null ? null : JSON.stringify(metadata),
    };
    const others = agents.filter((id) => id !== responsible);
    return [
      { table: "customers", after: { site_id, external_id, name, ip, created_at, updated_at: clock } },
      { table: "sessions", after: session },
      ...others.map((agent_id) => {
        const after = { site_id, session_id, agent_id, added_by: responsible, added_at: clock };
        return { table: "participants", after };
      }),
      { table: "messages", after: { site_id, session_id, seq: 1, ...from, content, created_at: clock } },
    ];
  },

  event: {
    type: "session.created",
    data(_, __, rows) {
      const [[session = {}], [customer = {}]] = [rowsOf(rows, "sessions"), rowsOf(rows, "customers")];
      return sessionDetail(session, customer, rowsOf(rows, "participants"), rowsOf(rows, "messages"));
    },
  },

  answer: (chat_id) => ({ chat_id }),

  learn(site, data) {
    const { chat_id } = (data ?? {}) as { chat_id?: number };
    if (chat_id !== undefined) site.chatIds.push(chat_id);
  },
};

export default model;

/** A session as it is shown, with everything that `create_gd` may store. */
export const sessionDetail = (session: Row, customer: Row, participants: Row[], messages: Row[]): object =>
  shownSession(
    session,
    customer,
    participants,
    messages,
    Object.values(PLAIN).flatMap(({ columns }) => columns),
  );
