import { LEFT_OUT_BECAUSE, type LeftOutAgent, RULES, SENT_AS, type Violation, wordsOf } from "../../core/rules.ts";
import type { View } from "./view.ts";

export type Translator = Pick<View, "t">;

/** Quotes a text that has no translation here. */
export const quote = (text: string): string => `“${text}”`;

/** Each violation of a refused call as a text in the reader's language. */
export const violationTexts = (reader: Translator, violations: readonly Violation[]): string[] =>
  violations.map((violation) => violationText(reader, violation));

/** Whether this release has words for a violation. Another release may have stored it. */
export function isKnown({ rule, values = [], sentAs, agents }: Violation): boolean {
  if (!Object.hasOwn(RULES, rule) || (sentAs !== undefined && !Object.hasOwn(SENT_AS, sentAs))) return false;
  if (agents !== undefined) return agents.every(({ why }) => LEFT_OUT_BECAUSE.includes(why));
  return [...RULES[rule].detail.matchAll(/\{(\d)\}/g)].every(([, place]) => values[Number(place)] !== undefined);
}

/** One violation as a text in the reader's language. */
export function violationText(reader: Translator, violation: Violation): string {
  const { t } = reader;
  const {
    rule,
    field,
    item,
    key,
    values = [],
    asString,
    sentAs = asString && "string",
    mayBeLeftOut,
    agents,
  } = violation;
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
    leftOut
      .filter((agent) => agent.why === why)
      .map(({ id }) => id)
      .join(t(", "));
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
