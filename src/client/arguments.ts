/** Turns the arguments of calls into fields of the wire. A value that JSON cannot carry exactly is refused before anything is sent. */

export interface NewSession {
  /** The customer is created or updated. The number 7 and the string "7" are the same id; beyond 2^53, give a bigint or a string. */
  customer: { id: string | number | bigint; name: string; ip: string };
  /** The first message, 1 to 2000 characters. */
  content: string;
  /** The title of the session, for the customer and the agents: 1 to 120 characters. */
  title?: string | undefined;
  /** 1 to 100 ids. The responsible agent must be among them. */
  agentIds: readonly number[];
  responsibleAgentId: number;
  /** The sender of the first message. Default: the responsible agent. */
  sender?: "customer" | "responsible_agent" | "system" | undefined;
  /** Up to 20 pairs of name and value, stored with the session. Names: 1 to 40 characters of A-Za-z0-9_.-; values: up to 500 characters. */
  metadata?: Readonly<Record<string, string>> | undefined;
}

export interface AddedAgents {
  chatId: number;
  agentIds: readonly number[];
}

const SENDER_TYPES = { customer: 1, responsible_agent: 2, system: 3 } as const;

/** @throws TypeError naming the wrong argument */
export function createFields(session: NewSession): Record<string, unknown> {
  const { id, name, ip } = object("customer", object("session", session).customer);
  // An integer beyond 2^53 passes here: prepare() refuses it, and its message advises a bigint.
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

/** @throws TypeError naming the wrong argument */
export function addFields(request: AddedAgents): Record<string, unknown> {
  const { chatId, agentIds } = object("request", request);
  return { chat_id: integer("chatId", chatId), kefu_ids: integers("agentIds", agentIds).join(",") };
}

function object<Value extends object>(name: string, value: Value): Value {
  if (typeof value !== "object" || value === null) throw new TypeError(`${name}: must be an object`);
  return value;
}

function integer(name: string, value: number): number {
  // The types allow no bigint here. A program without types may give one, and a bigint has all its digits.
  if (Number.isSafeInteger(value) || typeof value === "bigint") return value;
  const beyond = Number.isInteger(value) ? ": it is beyond 2^53 - 1, so its digits are not certain" : "";
  const valueText = typeof value === "number" ? `${value}` : kindOf(value);
  throw new TypeError(`${name}: must be an integer, not ${valueText}${beyond}`);
}

/** Checks each id of a list. Array.from() turns a hole into undefined, which is refused; list.map() would skip the hole. */
function integers(name: string, list: readonly number[]): number[] {
  if (!Array.isArray(list)) throw new TypeError(`${name}: must be an array`);
  return Array.from(list, (each, index) => integer(`${name}[${index}]`, each));
}

function strings(name: string, pairs: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const prototype = Object.getPrototypeOf(object(name, pairs));
  // A Map or URLSearchParams has no fields of its own, so no value of it would be sent.
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
