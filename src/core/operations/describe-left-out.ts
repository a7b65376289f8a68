import type { LeftOutAgent } from "./operation.ts";

/** The length of a header that every proxy accepts, in characters. A hundred usual ids stay far below it. */
const LONGEST = 3_000;

/** Causes that the caller can correct come first. */
const ORDER: LeftOutAgent["why"][] = ["unknown", "disabled", "already on the session"];

/** The text of `x-ignored-agents`: `777 unknown, 10430 disabled, 10411 already on the session`. */
export function describeLeftOut(leftOut: readonly LeftOutAgent[]): string {
  // The agents changed between the tries: the first try was refused and its answer lost, and the second try found nobody to leave
  // out.
  if (leftOut.length === 0) return "the agents have changed meanwhile";
  const ordered = leftOut.toSorted((a, b) => ORDER.indexOf(a.why) - ORDER.indexOf(b.why));
  let text = "";
  for (const [i, { id, why }] of ordered.entries()) {
    const next = `${i === 0 ? "" : ", "}${id} ${why}`;
    if (text.length + next.length > LONGEST) return `${text}, and ${ordered.length - i} more`;
    text += next;
  }
  return text;
}
