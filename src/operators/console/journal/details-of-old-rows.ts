import { LEFT_OUT_BECAUSE, type LeftOutAgent, RULES, type RuleName, type Violation } from "../../../core/rules.ts";
import { quote, type Translator, violationText } from "../violation-texts.ts";

/**
 * Reads the text of journal rows from before rows had `violations` (migration 0011). Nothing else may use this file. JOURNAL_DAYS keeps
 * no row for more than 90 days, so delete it in the first release that is made more than 90 days after the one with that migration.
 * When the English of a rule changes before, its old rows are quoted.
 */

/** Rules whose English has a list of agents, which {@link agentsOf} reads. */
const AGENT_RULES: readonly RuleName[] = ["agents_fit", "agent_to_add"];

/** Each rule's English, with a group for each value. Rules without values come first: "not base64" is no number of digits. */
const PATTERNS = (Object.entries(RULES) as [RuleName, (typeof RULES)[RuleName]][])
  .filter(([rule]) => !AGENT_RULES.includes(rule))
  .map(([rule, { detail }]) => {
    const [places, texts] = [[...detail.matchAll(/\{(\d)\}/g)], detail.split(/\{\d\}/)];
    const pattern = new RegExp(`^${texts.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("(\\S+)")}$`);
    return { rule, pattern, places: places.map(([, place]) => Number(place)) };
  })
  .sort((a, b) => a.places.length - b.places.length);

/** The parts of an old detail in the reader's language, one text each. An unknown part is quoted. */
export const textsOfOldRow = (reader: Translator, detail: string): string[] =>
  detail
    .split("; ")
    .filter((part) => part !== "")
    .map((part) => {
      const violation = violationOfOldText(part);
      return violation === undefined ? quote(part) : violationText(reader, violation);
    });

function violationOfOldText(text: string): Violation | undefined {
  const sentence = ruleOf(text);
  if (sentence !== undefined) return sentence;
  const [, field, fieldRule = ""] = /^([\w-]+): (.*)$/s.exec(text) ?? [];
  if (field === undefined) return undefined;
  const [, nobody, listed = ""] = /^(nobody to add: )?(.*)$/s.exec(fieldRule) ?? [];
  const agents = agentsOf(listed);
  if (agents !== undefined) return { field, rule: nobody === undefined ? "agents_fit" : "agent_to_add", agents };
  const [, item, ofItem] = /^item (\d+) (.*)$/s.exec(fieldRule) ?? [];
  const [, one, place, ofKey] = /^(one key|key (\d+)) (.*)$/s.exec(fieldRule) ?? [];
  const [, bare = "", asString, mayBeLeftOut] =
    /^(.*?)(, not a string)?(, or left out)?$/s.exec(ofItem ?? ofKey ?? fieldRule) ?? [];
  const broken = ruleOf(bare);
  return (
    broken && {
      field,
      ...broken,
      ...(item !== undefined && { item: Number(item) }),
      ...(one !== undefined && { key: place === undefined ? "one" : Number(place) }),
      ...(asString !== undefined && { asString: true }),
      ...(mayBeLeftOut !== undefined && { mayBeLeftOut: true }),
    }
  );
}

function ruleOf(ruleText: string): Pick<Violation, "rule" | "values"> | undefined {
  for (const { rule, pattern, places } of PATTERNS) {
    const [whole, ...groups] = pattern.exec(ruleText) ?? [];
    if (whole === undefined) continue;
    const values: string[] = [];
    for (const [i, place] of places.entries()) values[place] = groups[i] ?? "";
    return { rule, values };
  }
  return undefined;
}

/** The agents of a text such as `777 unknown, 10430 disabled`; undefined for another text. */
function agentsOf(agentsText: string): LeftOutAgent[] | undefined {
  if (agentsText === "the agents have changed meanwhile") return [];
  const agents = agentsText.split(", ").map((agent) => /^(\d+) (.*)$/s.exec(agent) ?? []);
  if (!agents.every(([, , why = ""]) => LEFT_OUT_BECAUSE.some((known) => known === why))) return undefined;
  return agents.map(([, id, why]) => ({ id: Number(id), why: why as LeftOutAgent["why"] }));
}
