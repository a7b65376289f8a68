import { describeViolations } from "../../core/describe-violations.ts";
import { LEFT_OUT_BECAUSE, type LeftOutAgent, RULES, SENT_AS, type Violation, wordsOf } from "../../core/rules.ts";
import type { Refusal } from "../services/journal.ts";
import type { View } from "./view.ts";

export type Translator = Pick<View, "t">;

/**
 * The stored detail of a refused call in the reader's language: a text for each violation. The rest of the detail is quoted. It may be
 * cut off, a sentence for operators, from another release, or of a row from before rows had violations.
 */
export function refusalTexts(
  reader: Translator,
  { detail, violations }: Pick<Refusal, "detail" | "violations">,
): string[] {
  if (detail === null) return [];
  const stored = violations ?? [];
  const unknown = stored.findIndex((each) => !isKnown(each));
  const known = unknown < 0 ? stored : stored.slice(0, unknown);
  const description = describeViolations(known);
  // A detail that begins in another way is from a release that worded the same rules differently.
  const rest = detail.startsWith(description) ? detail.slice(description.length).replace(/^; /, "") : "";
  return [...violationTexts(reader, known), ...(rest === "" ? [] : [`“${rest}”`])];
}

/** Each violation of a refused call as a text in the reader's language. */
export const violationTexts = (reader: Translator, violations: readonly Violation[]): string[] =>
  violations.map((violation) => violationText(reader, violation));

/** Whether this release has words for a violation. Another release may have stored it. */
function isKnown({ rule, values = [], sentAs, agents }: Violation): boolean {
  if (!Object.hasOwn(RULES, rule) || (sentAs !== undefined && !Object.hasOwn(SENT_AS, sentAs))) return false;
  if (agents !== undefined) return agents.every(({ why }) => LEFT_OUT_BECAUSE.includes(why));
  return [...RULES[rule].detail.matchAll(/\{(\d)\}/g)].every(([, place]) => values[Number(place)] !== undefined);
}

/** One violation as a text in the reader's language. */
export function violationText(reader: Translator, violation: Violation): string {
  const { t } = reader;
  const { rule, field, item, key, values = [], asString, mayBeLeftOut, agents } = violation;
  const { sentAs = asString && "string" } = violation;
  const words = wordsOf(rule);
  if (agents !== undefined)
    return t("{0}: {1}", field, joinedSentences(t, [words && t(words), leftOutText(reader, agents)]));
  const valueTexts = values.map((value) => (typeof value === "object" ? value.join(t(", ")) : value));
  const saidTexts = joinedSentences(t, [
    t(words, ...valueTexts),
    sentAs && t(SENT_AS[sentAs].words),
    mayBeLeftOut && t("Leave it out when there is none."),
  ]);
  if (field === undefined) return saidTexts;
  if (item !== undefined) return t("{0}, item {1}, {2}", field, item, saidTexts);
  if (key === "one") return t("{0}, one of its keys, {1}", field, saidTexts);
  return key === undefined ? t("{0} {1}", field, saidTexts) : t("{0}, key {1}, {2}", field, key, saidTexts);
}

/** Why agents are left out, in the reader's language. Each reason stands once, with its agents. */
export function leftOutText({ t }: Translator, leftOut: readonly LeftOutAgent[]): string {
  if (leftOut.length === 0) return t("The agents have changed meanwhile.");
  const idsOf = (why: LeftOutAgent["why"]) =>
    leftOut.flatMap((agent) => (agent.why === why ? [agent.id] : [])).join(t(", "));
  const [unknown, disabled, there] = [idsOf("unknown"), idsOf("disabled"), idsOf("already on the session")];
  return joinedSentences(t, [
    unknown && t("Unknown on this site: {0}.", unknown),
    disabled && t("Disabled: {0}.", disabled),
    there && t("On the session already: {0}.", there),
  ]);
}

/** Joins the sentences that are set. */
const joinedSentences = (t: View["t"], sentences: (string | false | undefined)[]): string =>
  sentences.filter((sentence) => sentence).join(t(" "));
