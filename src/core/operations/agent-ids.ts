import { type BrokenRule, isPositiveId, NOT_POSITIVE, type Reading, readBy } from "../fields.ts";
import type { RuleName } from "../rules.ts";

/** The most agents of a request. An agent that is named twice counts once. */
const MOST_AGENTS = 100;

/** Blanks around an id are allowed: "10427, 10428". */
const LISTED_ID = /^[ \t]*[1-9][0-9]*[ \t]*$/;

/** The distinct ids of a list, sorted. Stops at the first wrong item or the 101st agent: a body has room for 31,000 ids. */
function distinctItems(items: Iterable<number | BrokenRule>, rule: RuleName): Reading<number[]> {
  const whole = { broken: { rule, values: [1, MOST_AGENTS] } };
  const ids = new Set<number>();
  let item = 0;
  for (const each of items) {
    item += 1;
    if (typeof each === "object") return { broken: { ...each, item } };
    if (ids.add(each).size > MOST_AGENTS) return whole;
  }
  return ids.size === 0 ? whole : { value: [...ids].sort((a, b) => a - b) };
}

function* idsOfArray(list: unknown): Iterable<number | BrokenRule> {
  if (!Array.isArray(list)) return;
  for (const each of list) yield isPositiveId(each) ? each : NOT_POSITIVE;
}

/** Reads item by item, because `split` would make all items first. */
function* idsOfText(text: string): Iterable<number | BrokenRule> {
  let start = 0;
  for (let end = 0; end < text.length; start = end + 1) {
    const comma = text.indexOf(",", start);
    end = comma < 0 ? text.length : comma;
    const item = text.slice(start, end);
    const id = Number(item);
    if (!LISTED_ID.test(item)) yield { rule: ruleOfItem(item, start > 0 && comma < 0) };
    else yield isPositiveId(id) ? id : NOT_POSITIVE;
  }
}

function ruleOfItem(item: string, isAfterTrailingComma: boolean): RuleName {
  if (/[，、﹐､]/.test(item)) return "full_width_comma";
  if (/\d[^\w.０-９]+\d/.test(item)) return "comma_between";
  if (/[^ \t]/.test(item)) return "listed_id";
  return isAfterTrailingComma ? "empty_at_end" : "empty";
}

export const agentIds = readBy((list) => distinctItems(idsOfArray(list), "agent_ids"));

/** Agents' ids as an array, or as a string with commas between them. */
export const listedAgentIds = readBy((list) =>
  distinctItems(typeof list === "string" ? idsOfText(list) : idsOfArray(list), "listed_ids"),
);
