import { createHmac } from "node:crypto";
import { isIP } from "node:net";
import type { Wire } from "../../world/call.ts";

/**
 * The contract read once more, from its text and not from the code: what a request says, and whether its form is right. Sections 4 and 8
 * of the contract, and docs/decisions.md where it leaves something silent.
 */

type OperationName = "create_gd" | "add_kf";

export interface CreateAsked {
  operation: "create_gd";
  customer: { id: string; name: string; ip: string };
  content: string;
  title: string | null;
  /** Distinct. */
  agents: number[];
  responsible: number;
  sender: 1 | 2 | 3;
  metadata: Record<string, string> | null;
}

export interface AddAsked {
  operation: "add_kf";
  chatId: number;
  /** Distinct. */
  agents: number[];
}

type Asked = CreateAsked | AddAsked;

/** A request as it can be read without knowing any secret. */
export interface Reading {
  operation: OperationName;
  appid: string;
  /** Undefined when `timestamp` or `ranstr` break their rules. */
  stamp: { timestamp: number; ranstr: string } | undefined;
  /** Undefined when a field breaks its rule. */
  asked: Asked | undefined;
  /** Two requests with one Idempotency-Key are the same when this is the same. */
  fingerprint: string;
  /** Null without one, undefined when it breaks its rule. */
  key: string | null | undefined;
  signature: string;
}

/** Whether a signed request is refused for its form alone: a field, its stamp or its Idempotency-Key. */
export const isMalformed = ({ stamp, asked, key }: Reading): boolean =>
  stamp === undefined || asked === undefined || key === undefined;

/** The operation as keys are stored for it. */
export const storedName = ({ operation }: Reading): string =>
  operation === "create_gd" ? "create_session" : "add_agents";

/** What is wrong with a request before its signature matters. */
export type Unreadable = 400 | 404 | 405 | 413 | 415;

const MOST_BYTES = 65_536;

const isText = (value: unknown, most: number): value is string =>
  typeof value === "string" && value.isWellFormed() && value !== "" && [...value].length <= most;

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1;

/** Sections 4 and 5. @returns why the request cannot be read, or what it says */
export function read({ method, path, headers, body }: Wire): Unreadable | Reading {
  if (!/^\/openapi\/chat\/(create_gd|add_kf)$/.test(path)) return 404;
  if (method !== "POST") return 405;
  if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")) return 415;
  if (headers["content-encoding"] !== undefined) return 415;
  if (Buffer.byteLength(body) > MOST_BYTES) return 413;
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(body) as Record<string, unknown>;
  } catch {
    return 400;
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return 400;
  const { appid, timestamp, ranstr } = fields;
  if (typeof appid !== "string" || appid === "" || [...appid].length > 64) return 400;
  const operation = path.endsWith("create_gd") ? "create_gd" : "add_kf";
  const asked = operation === "create_gd" ? readCreate(fields, body) : readAdd(fields);
  const key = headers["idempotency-key"];
  return {
    operation,
    appid,
    stamp:
      Number.isSafeInteger(timestamp) && isText(ranstr, 128) ? { timestamp: timestamp as number, ranstr } : undefined,
    asked,
    fingerprint: asked === undefined ? "" : fingerprintOf(asked),
    key: key === undefined ? null : /^[\x21-\x7e]{1,255}$/.test(key) ? key : undefined,
    signature: headers["x-chat-signature"] ?? "",
  };
}

/** Section 5: HMAC-SHA256 of the body as sent, in hex of any case. */
export const isSignedWith = (secret: string, body: string, signature: string): boolean =>
  createHmac("sha256", secret).update(body).digest("hex") === signature.toLowerCase();

/** Section 4.1. */
function readCreate(fields: Record<string, unknown>, body: string): CreateAsked | undefined {
  const { sbs, ip, sbs_mc, content, title, kefu_id, fzr_uid, sender_type = 2, metadata } = fields;
  const id = typeof sbs === "number" ? digitsOf(body) : sbs;
  if (!isText(id, 64) || typeof ip !== "string" || isIP(ip) === 0 || !isText(sbs_mc, 30)) return undefined;
  if (!isText(content, 2000) || (title !== undefined && !isText(title, 120))) return undefined;
  if (!Array.isArray(kefu_id) || !kefu_id.every(isId) || !isId(fzr_uid) || !kefu_id.includes(fzr_uid)) return undefined;
  const agents = distinct(kefu_id);
  if (agents.length > 100 || !(sender_type === 1 || sender_type === 2 || sender_type === 3)) return undefined;
  if (metadata !== undefined && !isMetadata(metadata)) return undefined;
  return {
    operation: "create_gd",
    customer: { id, name: sbs_mc, ip },
    content,
    title: title ?? null,
    agents,
    responsible: fzr_uid,
    sender: sender_type,
    metadata: metadata === undefined ? null : sorted(metadata),
  };
}

/** Section 4.2. */
function readAdd({ chat_id, kefu_ids }: Record<string, unknown>): AddAsked | undefined {
  if (!Number.isSafeInteger(chat_id)) return undefined;
  let ids: unknown = kefu_ids;
  if (typeof kefu_ids === "string") {
    if (!/^[ \t]*[1-9][0-9]*[ \t]*(,[ \t]*[1-9][0-9]*[ \t]*)*$/.test(kefu_ids)) return undefined;
    ids = kefu_ids.split(",").map(Number);
  }
  if (!Array.isArray(ids) || ids.length === 0 || !ids.every(isId)) return undefined;
  const agents = distinct(ids);
  return agents.length > 100 ? undefined : { operation: "add_kf", chatId: chat_id as number, agents };
}

const distinct = (ids: number[]): number[] => [...new Set(ids)].sort((a, b) => a - b);

/** A number is an integer, kept digit for digit. */
function digitsOf(body: string): string | undefined {
  const [, digits] = /"sbs":\s*(-?(?:0|[1-9][0-9]*))\s*[,}]/.exec(body) ?? [];
  return digits;
}

/** An extension: docs/contract.md, "metadata". */
function isMetadata(value: unknown): value is Record<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const pairs = Object.entries(value as Record<string, unknown>);
  return (
    pairs.length <= 20 &&
    pairs.every(([name, text]) => /^[A-Za-z0-9_.-]{1,40}$/.test(name) && (text === "" || isText(text, 500)))
  );
}

/** The order of its names means nothing. */
const sorted = (metadata: Record<string, string>) =>
  Object.fromEntries(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1)));

/** docs/retrying.md, "What means the same". */
const fingerprintOf = (asked: Asked): string => JSON.stringify(asked);
