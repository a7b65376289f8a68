/** Fields of requests at the edges of the contract's rules: section 8, and docs/decisions.md. Each replaces fields of a request that is right. */

export type Fields = Record<string, unknown>;

const text = (length: number, of = "x"): string => of.repeat(length);
const ids = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const pairs = (count: number, name = 3, value = 3): Record<string, string> =>
  Object.fromEntries(ids(count).map((i) => [String(i).padStart(name, "n"), text(value)]));
const LONE_SURROGATE = "\ud800";

/** Wrong by one rule. */
export const MALFORMED_STAMPS: readonly Fields[] = [
  { ranstr: "" },
  { ranstr: text(129) },
  { ranstr: 17 },
  { ranstr: LONE_SURROGATE },
  { timestamp: "1767772879" },
  { timestamp: 1_767_772_879.5 },
  { timestamp: null },
];

/** Wrong by one rule. */
export const MALFORMED_CREATES: readonly Fields[] = [
  { content: "" },
  { content: text(2001) },
  { content: LONE_SURROGATE },
  { content: null },
  { title: "" },
  { title: text(121) },
  { title: null },
  { sbs: "" },
  { sbs: text(65) },
  { sbs: 1.5 },
  { sbs: true },
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
  { kefu_id: [] },
  { kefu_id: [0, 10_411] },
  { kefu_id: ["10411"] },
  { kefu_id: "10411" },
  { kefu_id: ids(101), fzr_uid: 1 },
  { metadata: pairs(21) },
  { metadata: pairs(1, 41) },
  { metadata: pairs(1, 3, 501) },
  { metadata: { order: 7 } },
  { metadata: { "a b": "" } },
  { metadata: [] },
  { metadata: null },
  { metadata: "order" },
];

/** At the edge of a rule, and right in form. */
export const EXTREME_CREATES: readonly Fields[] = [
  { content: text(2000) },
  { content: text(2000, "一") },
  { content: text(2000, "😀") },
  { content: "a\u0000b" },
  { title: text(120) },
  { title: "标" },
  { sbs: text(64) },
  { sbs: 1001 },
  { sbs: 0 },
  { sbs: -5 },
  { sbs_mc: text(30, "😀") },
  { ip: "0.0.0.0" },
  { ip: "::ffff:192.0.2.1" },
  { sender_type: 1 },
  { sender_type: 2 },
  { sender_type: 3 },
  { kefu_id: ids(100), fzr_uid: 1 },
  { metadata: {} },
  { metadata: pairs(20, 40, 500) },
  { metadata: { empty: "" } },
  { unknown: { nested: [1] }, chat_id: "x" },
  { sbs: 1001, unknown: { nested: 1, sbs: 7 } },
];

/** Wrong by one rule. */
export const MALFORMED_ADDS: readonly Fields[] = [
  { chat_id: "1" },
  { chat_id: 1.5 },
  { chat_id: null },
  { chat_id: undefined },
  { kefu_ids: "" },
  { kefu_ids: "," },
  { kefu_ids: "10411,,10412" },
  { kefu_ids: "0" },
  { kefu_ids: "010411" },
  { kefu_ids: "10411;10412" },
  { kefu_ids: [] },
  { kefu_ids: [0] },
  { kefu_ids: ["10411"] },
  { kefu_ids: ids(101) },
  { kefu_ids: ids(101).join(",") },
  { kefu_ids: 10_411 },
  { kefu_ids: null },
];

/** At the edge of a rule, and right in form. */
export const EXTREME_ADDS: readonly Fields[] = [
  { kefu_ids: " 10411 ,\t10412 " },
  { kefu_ids: [10_411, 10_411] },
  { kefu_ids: ids(100) },
  { kefu_ids: [...ids(100), 1].join(",") },
  { chat_id: 0 },
  { chat_id: -1 },
];
