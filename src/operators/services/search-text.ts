import { APPID } from "../../core/credentials/resolve-credentials.ts";
import { isText } from "../../core/fields.ts";
import { REQUEST_ID } from "../../core/request-id.ts";

/** The text of a search, and everything that it may mean. Fields that it cannot be are undefined. */
export interface SearchText {
  /** Without surrounding white space, and without the name in front of a copied line. */
  text: string;
  requestId: string | undefined;
  webhookId: string | undefined;
  eventId: string | undefined;
  /** A chat_id, or the id of an agent or a site. */
  number: number | undefined;
  /** A customer's id. */
  sbs: string | undefined;
  /** A range of appids, in the order of their characters. */
  appids: { from: string; to: string } | undefined;
  /** Words of titles and names; none for a text that can only be an id. */
  words: string[];
  /** How many words were left out. */
  wordsLeft: number;
}

/** The most characters that are searched for. */
export const MOST_TYPED = 200;

export const MOST_WORDS = 10;

/** Fewer characters than this would be the beginning of too many appids. */
const LEAST_OF_APPID = 6;

/** A line that was copied from a log, from `curl -v` or from JSON begins with a name, and may end with a comma. */
const NAMED_NUMBER =
  /^\s*["']?(?:x-request-id|request_id|webhook-id|webhook_id|event_id|chat_id|appid|sbs|kefu_id|fzr_uid)["']?\s*[:=]\s*(.*)$/is;

const unquote = (text: string) => text.replace(/^["'\s]+|["',;\s]+$/g, "");

export function readSearchText(typed: string): SearchText {
  const [, namedNumber] = NAMED_NUMBER.exec(typed) ?? [];
  const text = namedNumber === undefined ? typed.trim() : unquote(namedNumber);
  const compact = text.replace(/[\s",]+/g, "").toLowerCase();
  const requestId = REQUEST_ID.test(compact) ? compact : undefined;
  const webhookId = /^wh_[0-9a-f]{32}$/.test(compact) ? compact : undefined;
  const eventId = /^evt_[0-9a-f]{32}$/.test(compact) ? compact : undefined;
  const [, digits] = /^#?([1-9]\d{0,15})$/.exec(text) ?? [];
  const isNumber = digits !== undefined && Number.isSafeInteger(Number(digits));
  const isId = (requestId ?? webhookId ?? eventId) !== undefined;
  const words = isId ? [] : [...new Set(text.split(/\s+/).filter((word) => word !== ""))];
  return {
    text,
    requestId,
    webhookId,
    eventId,
    number: isNumber ? Number(digits) : undefined,
    sbs: isText(text, 1, 64) ? text : undefined,
    // "~" comes after every character of an appid.
    appids: APPID.test(text) ? { from: text, to: text.length < LEAST_OF_APPID ? text : `${text}~` } : undefined,
    words: words.slice(0, MOST_WORDS),
    wordsLeft: Math.max(0, words.length - MOST_WORDS),
  };
}
