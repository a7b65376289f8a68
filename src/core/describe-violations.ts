import { LEFT_OUT_BECAUSE, type LeftOutAgent, RULES, SENT_AS, type Violation } from "./rules.ts";

/**
 * Violations in one line, in the English of `x-error-detail`: `fzr_uid: is required; kefu_id: item 2 must be an integer`. The text quotes
 * nothing that was sent, except the media types of a wrong Content-Type.
 */
export const describeViolations = (violations: readonly Violation[]): string =>
  violations.map(describeViolation).join("; ");

/** The text of a refusal: the text of its violations, or its sentence for operators. */
export const detailOf = ({
  violations,
  detail,
}: {
  violations?: readonly Violation[];
  detail?: string;
}): string | undefined => (violations === undefined ? detail : describeViolations(violations));

function describeViolation({ rule, field, item, key, values = [], sentAs, mayBeLeftOut, agents }: Violation): string {
  const { detail } = RULES[rule];
  const ruleText =
    agents === undefined ? values.map(valueText) : [describeLeftOut(agents, LONGEST - `${field}: ${detail}`.length)];
  return [
    field === undefined ? "" : `${field}: `,
    item === undefined ? "" : `item ${item} `,
    key === undefined ? "" : key === "one" ? "one key " : `key ${key} `,
    detail.replace(/\{(\d)\}/g, (_, index) => String(ruleText[Number(index)])),
    sentAs === undefined ? "" : `, ${SENT_AS[sentAs].detail}`,
    mayBeLeftOut === true ? ", or left out" : "",
  ].join("");
}

const valueText = (value: NonNullable<Violation["values"]>[number]) =>
  typeof value === "object" ? value.join(" and ") : value;

/** The length of a header that every proxy accepts, in characters. */
const LONGEST = 3_000;

/**
 * The text of `x-ignored-agents`: `777 unknown, 10430 disabled, 10411 already on the session`. When that would be longer than `room`, each
 * reason stands once, before its ids: `unknown: 777, disabled: 10430 10431`. So a hundred ids of 16 digits take 1,744 characters at most.
 */
export function describeLeftOut(leftOut: readonly LeftOutAgent[], room = LONGEST): string {
  // The agents changed between two tries: the answer to the first try, a refusal, was lost, and the second try left nobody out.
  if (leftOut.length === 0) return "the agents have changed meanwhile";
  const groups = LEFT_OUT_BECAUSE.map((why) => ({
    why,
    ids: leftOut.filter((each) => each.why === why).map(({ id }) => id),
  }));
  const text = groups.flatMap(({ why, ids }) => ids.map((id) => `${id} ${why}`)).join(", ");
  if (text.length <= room) return text;
  return groups.flatMap(({ why, ids }) => (ids.length === 0 ? [] : `${why}: ${ids.join(" ")}`)).join(", ");
}
