import { UNKNOWN_PATH } from "../../core/operations/index.ts";
import type { Fault, LeftOutAgent } from "../../core/rules.ts";
import { faultText } from "../../operators/console/fault-texts.ts";
import type { Texts } from "./texts.ts";

/** What a fault means, in the words that the console has for it. */
export const meaningOf = ({ t }: Pick<Texts, "t">, fault: Fault): string =>
  faultText({ t: (text, ...values) => t(text, ...values.map((value) => value ?? "")) }, fault);

const UNFIT: LeftOutAgent[] = [
  { id: 777, why: "unknown" },
  { id: 10430, why: "disabled" },
];

/**
 * Faults as callers have them, one for each rule of src/core/rules.ts; test/tools/docs/glossary.test.ts names a rule without one. Sorted
 * by what they are about.
 */
export const FAULT_EXAMPLES: { about: string; faults: Fault[] }[] = [
  {
    about: "Path, headers and body",
    faults: [
      UNKNOWN_PATH,
      { field: "x-chat-signature", rule: "required" },
      { field: "x-chat-signature", rule: "signature_prefix", values: ["sha256="] },
      { field: "x-chat-signature", rule: "signature_length", values: [40] },
      { field: "x-chat-signature", rule: "signature_base64" },
      { field: "x-chat-signature", rule: "signature_characters" },
      { field: "Content-Type", rule: "json_type" },
      { field: "Content-Encoding", rule: "absent" },
      { field: "body", rule: "bytes_at_most", values: [65536] },
      { field: "body", rule: "within_seconds", values: [5] },
      { field: "body", rule: "whole" },
      { field: "body", rule: "utf8" },
      { field: "body", rule: "no_byte_order_mark" },
      { field: "body", rule: "json" },
      { field: "body", rule: "json_object" },
    ],
  },
  {
    about: "timestamp, ranstr and Idempotency-Key",
    faults: [
      { field: "timestamp", rule: "near_now", values: [300, 1795319350] },
      { field: "timestamp", rule: "unix_seconds", asString: true },
      { field: "ranstr", rule: "used_once" },
      { field: "Idempotency-Key", rule: "visible_ascii", values: [1, 255] },
      { field: "Idempotency-Key", rule: "key_of_one_request" },
    ],
  },
  {
    about: "Fields",
    faults: [
      { field: "sbs_mc", rule: "required" },
      { field: "appid", rule: "text_within", values: [1, 64] },
      { field: "title", rule: "text_within", values: [1, 120], mayBeLeftOut: true },
      { field: "sbs", rule: "text_or_digits", values: [1, 64] },
      { field: "ip", rule: "ip_address" },
      { field: "chat_id", rule: "integer", asString: true },
      { field: "sender_type", rule: "sender" },
      { field: "metadata", rule: "pairs", values: [20, 500, 1, 40, "A-Za-z0-9_.-"] },
      { field: "metadata", rule: "most_keys", values: [20] },
      { field: "metadata", key: 2, rule: "value_of_key", values: [500] },
      { field: "metadata", key: 1, rule: "name_of_key", values: [1, 40, "A-Za-z0-9_.-"] },
    ],
  },
  {
    about: "Agents and sessions",
    faults: [
      { field: "kefu_id", rule: "agent_ids", values: [1, 100], asString: true },
      { field: "kefu_id", item: 2, rule: "integer_within", values: [1, 9007199254740991], asString: true },
      { field: "kefu_id", rule: "agents_fit", agents: UNFIT },
      { field: "fzr_uid", rule: "one_of", values: ["kefu_id"] },
      { field: "kefu_ids", rule: "listed_ids", values: [1, 100] },
      { field: "kefu_ids", item: 2, rule: "listed_id" },
      { field: "kefu_ids", item: 1, rule: "full_width_comma" },
      { field: "kefu_ids", item: 2, rule: "empty" },
      { field: "kefu_ids", item: 3, rule: "empty_at_end" },
      { field: "kefu_ids", rule: "agent_to_add", agents: [...UNFIT, { id: 10411, why: "already on the session" }] },
      { field: "chat_id", rule: "session_known" },
      { field: "chat_id", rule: "ticket" },
      { field: "chat_id", rule: "responsible_agent" },
      { rule: "site_open" },
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
  for (const fault of FAULT_EXAMPLES.flatMap(({ faults }) => faults))
    for (const each of [fault, fault.key === undefined ? fault : { ...fault, key: "one" as const }])
      meaningOf({ t }, each);
  return [...words];
}
