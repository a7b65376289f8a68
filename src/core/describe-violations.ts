import { LEFT_OUT_BECAUSE, type LeftOutAgent, RULES, type Violation } from "./rules.ts";

/**
 * Violations in one line, in the English of `x-error-detail`: `fzr_uid: is required; kefu_id: item 2 must be an integer`. The values that
 * were sent are never quoted.
 */
export const describeViolations = (violations: readonly Violation[]): string =>
  violations.map(describeViolation).join("; ");

/** The text of a refusal: that of its violations, or the sentence for operators that it has in place of them. */
export const detailOf = ({
  violations,
  detail,
}: {
  violations?: readonly Violation[];
  detail?: string;
}): string | undefined => (violations === undefined ? detail : describeViolations(violations));

function describeViolation({ rule, field, item, key, values = [], asString, mayBeLeftOut, agents }: Violation): string {
  const said = agents === undefined ? values.map(listed) : [describeLeftOut(agents)];
  return [
    field === undefined ? "" : `${field}: `,
    item === undefined ? "" : `item ${item} `,
    key === undefined ? "" : key === "one" ? "one key " : `key ${key} `,
    RULES[rule].detail.replace(/\{(\d)\}/g, (_, index) => String(said[Number(index)])),
    asString === true ? ", not a string" : "",
    mayBeLeftOut === true ? ", or left out" : "",
  ].join("");
}

const listed = (value: NonNullable<Violation["values"]>[number]) =>
  typeof value === "object" ? value.join(" and ") : value;

/** The length of a header that every proxy accepts, in characters. A hundred usual ids stay far below it. */
const LONGEST = 3_000;

/** The agents that a text names, in its order, and how many more there are. */
export function namedOf(leftOut: readonly LeftOutAgent[]): { named: LeftOutAgent[]; more: number } {
  const ordered = leftOut.toSorted((a, b) => LEFT_OUT_BECAUSE.indexOf(a.why) - LEFT_OUT_BECAUSE.indexOf(b.why));
  let length = 0;
  const isFull = ({ id, why }: LeftOutAgent) => {
    length += `${length === 0 ? "" : ", "}${id} ${why}`.length;
    return length > LONGEST;
  };
  const full = ordered.findIndex(isFull);
  const named = full < 0 ? ordered : ordered.slice(0, full);
  return { named, more: ordered.length - named.length };
}

/** The text of `x-ignored-agents`: `777 unknown, 10430 disabled, 10411 already on the session`. */
export function describeLeftOut(leftOut: readonly LeftOutAgent[]): string {
  // The agents changed between the tries: the first try was refused and its answer lost, and the second try found nobody to leave
  // out.
  if (leftOut.length === 0) return "the agents have changed meanwhile";
  const { named, more } = namedOf(leftOut);
  const text = named.map(({ id, why }) => `${id} ${why}`).join(", ");
  return more === 0 ? text : `${text}, and ${more} more`;
}
