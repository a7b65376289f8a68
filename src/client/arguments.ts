/** What callers give to the calls, as fields of the wire. What JSON cannot carry exactly is refused before anything is sent. */

export interface NewSession {
  /** Created or refreshed. A number and a string of the same digits are one customer; beyond 2^53 give a bigint or a string. */
  customer: { id: string | number | bigint; name: string; ip: string };
  /** The first message, 1 to 2000 characters. */
  content: string;
  /** The remark title on both sides, 1 to 120 characters. */
  title?: string | undefined;
  /** 1 to 100, the responsible one among them. */
  agentIds: readonly number[];
  responsibleAgentId: number;
  /** Who the first message is from. Default: the responsible agent. */
  sender?: "customer" | "responsible_agent" | "system" | undefined;
  /** Your own pairs of name and value, stored with the session: up to 20, names of 1 to 40 characters of A-Za-z0-9_.-, values of up to 500. */
  metadata?: Readonly<Record<string, string>> | undefined;
}

export interface AddedAgents {
  chatId: number;
  agentIds: readonly number[];
}

const SENDER_TYPES = { customer: 1, responsible_agent: 2, system: 3 } as const;

/** @throws TypeError naming the argument that is none */
export function createFields(session: NewSession): Record<string, unknown> {
  const { id, name, ip } = object("customer", object("session", session).customer);
  // One beyond 2^53 is refused too, with the words of prepare(): it may be given as a bigint.
  if (typeof id === "number" && !Number.isInteger(id)) integer("customer.id", id);
  return {
    sbs: id,
    sbs_mc: name,
    ip,
    content: session.content,
    title: session.title,
    kefu_id: integers("agentIds", session.agentIds),
    fzr_uid: integer("responsibleAgentId", session.responsibleAgentId),
    sender_type: session.sender === undefined ? undefined : senderType(session.sender),
    metadata: session.metadata === undefined ? undefined : strings("metadata", session.metadata),
  };
}

/** @throws TypeError naming the argument that is none */
export function addFields(request: AddedAgents): Record<string, unknown> {
  const { chatId, agentIds } = object("request", request);
  return { chat_id: integer("chatId", chatId), kefu_ids: integers("agentIds", agentIds).join(",") };
}

function object<Value extends object>(name: string, value: Value): Value {
  if (typeof value !== "object" || value === null) throw new TypeError(`${name}: must be an object`);
  return value;
}

function integer(name: string, value: number): number {
  // A bigint is no type of these, but carries its digits.
  if (Number.isSafeInteger(value) || typeof value === "bigint") return value;
  const beyond = Number.isInteger(value) ? ": it is beyond 2^53 - 1, so its digits are not certain" : "";
  const said = typeof value === "number" ? `${value}` : kindOf(value);
  throw new TypeError(`${name}: must be an integer, not ${said}${beyond}`);
}

/** The same list without holes: an array method leaves them out unseen. */
function integers(name: string, list: readonly number[]): number[] {
  if (!Array.isArray(list)) throw new TypeError(`${name}: must be an array`);
  return Array.from(list, (each, index) => integer(`${name}[${index}]`, each));
}

function strings(name: string, pairs: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const prototype = Object.getPrototypeOf(object(name, pairs));
  // Of a Map, of URLSearchParams and the like nothing would be sent.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new TypeError(`${name}: must be a plain object of strings`);
  }
  for (const [key, value] of Object.entries<unknown>(pairs)) {
    if (typeof value !== "string") throw new TypeError(`${name}.${key}: must be a string, not ${kindOf(value)}`);
  }
  return pairs;
}

function senderType(sender: keyof typeof SENDER_TYPES): number {
  // Without this check an unknown sender would be left out, and the responsible agent would become the sender.
  if (!Object.hasOwn(SENDER_TYPES, sender)) throw new TypeError(`sender: "${sender}" is not a sender`);
  return SENDER_TYPES[sender];
}

const kindOf = (value: unknown): string =>
  value === undefined || value === null ? `${value}` : Array.isArray(value) ? "an array" : `of type ${typeof value}`;
