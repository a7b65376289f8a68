import { CALLS_DETAIL } from "../../core/operations/index.ts";
import { detailTexts } from "../../operators/console/details.ts";
import type { Texts } from "./texts.ts";

/** What a text of `x-error-detail` means, in the words that the console has for it. */
export function meaningOf({ t }: Pick<Texts, "t">, detail: string): string {
  const view = {
    t: (text: string, ...values: (string | number | undefined)[]) => t(text, ...values.map((value) => value ?? "")),
  };
  return detailTexts(view, detail).join(t(" "));
}

/**
 * Texts of `x-error-detail` as callers get them, one for each rule that src/operators/console/details.ts has words for;
 * test/tools/docs/glossary.test.ts names a rule without one. Sorted by what they are about.
 */
export const DETAIL_EXAMPLES: { about: string; details: string[] }[] = [
  {
    about: "Path, headers and body",
    details: [
      CALLS_DETAIL,
      "x-chat-signature: is required",
      "x-chat-signature: must be 64 hex digits, without a prefix such as sha256=",
      "x-chat-signature: must be 64 hex digits, not 40",
      "x-chat-signature: must be 64 hex digits, not base64",
      "x-chat-signature: must be 64 hex digits, without other characters",
      "Content-Type: must be application/json",
      "Content-Encoding: must be absent",
      "body: must be at most 65536 bytes",
      "body: must arrive within 5 s",
      "body: ended before its time",
      "body: must be UTF-8",
      "body: must have no byte order mark",
      "body: must be JSON",
      "body: must be a JSON object",
    ],
  },
  {
    about: "timestamp, ranstr and Idempotency-Key",
    details: [
      "timestamp: must be within 300 s of 1795319350, Unix seconds",
      "timestamp: must be an integer, Unix seconds, not a string",
      "ranstr: was already used",
      "Idempotency-Key: must be 1 to 255 visible ASCII characters",
      "Idempotency-Key: was used for a request that meant something else",
    ],
  },
  {
    about: "Fields",
    details: [
      "sbs_mc: is required",
      "appid: must be a string of 1 to 64 characters",
      "title: must be a string of 1 to 120 characters, or left out",
      "sbs: must be a string of 1 to 64 characters, or an integer of 1 to 64 digits",
      "ip: must be an IPv4 or IPv6 address",
      "chat_id: must be an integer, not a string",
      "sender_type: must be the integer 1, 2 or 3",
      "metadata: must be an object of up to 20 strings of up to 500 characters, under names of 1 to 40 characters of A-Za-z0-9_.-",
      "metadata: must have at most 20 keys",
      "metadata: key 2 must have a string of up to 500 characters",
      "metadata: key 1 must be a name of 1 to 40 characters of A-Za-z0-9_.-",
    ],
  },
  {
    about: "Agents and sessions",
    details: [
      "kefu_id: must be an array of 1 to 100 agent ids, not a string",
      "kefu_id: item 2 must be an integer from 1 to 9007199254740991, not a string",
      "kefu_id: 777 unknown, 10430 disabled",
      "fzr_uid: must be one of kefu_id",
      "kefu_ids: must be 1 to 100 agent ids (one named twice counts once), as positive integers between commas or as an array",
      "kefu_ids: item 2 must be a positive integer in digits, without leading zeros",
      'kefu_ids: item 1 has a full-width comma: write ","',
      "kefu_ids: item 2 is empty",
      "kefu_ids: item 3 is empty: end the list without a comma",
      "kefu_ids: nobody to add: 777 unknown, 10430 disabled, 10411 already on the session",
      "chat_id: no such session on this site",
      "chat_id: is not a ticket session",
      "chat_id: the session has no responsible agent",
      "the site is closed for now",
    ],
  },
];

/** The English of all that the meanings of the examples consist of. */
export function detailWords(): string[] {
  const words = new Set<string>();
  const t = (english: string, ...values: (string | number)[]) => {
    words.add(english);
    return english.replace(/\{(\d)\}/g, (_, index) => String(values[Number(index)] ?? ""));
  };
  const details = DETAIL_EXAMPLES.flatMap((each) => each.details);
  for (const detail of details)
    for (const said of [detail, detail.replace(/key \d+/, "one key")]) meaningOf({ t }, said);
  return [...words];
}
