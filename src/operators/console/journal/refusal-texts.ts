import { describeViolations } from "../../../core/describe-violations.ts";
import type { Refusal } from "../../services/journal.ts";
import { isKnown, quote, type Translator, violationTexts } from "../violation-texts.ts";
import { textsOfOldRow } from "./details-of-old-rows.ts";

/**
 * The stored detail of a refused call in the reader's language: a text for each violation. The rest of the detail is quoted. It may be
 * cut off, a sentence for operators, or from another release.
 */
export function refusalTexts(
  reader: Translator,
  { detail, violations }: Pick<Refusal, "detail" | "violations">,
): string[] {
  if (detail === null) return [];
  if (violations === null) return textsOfOldRow(reader, detail);
  const unknown = violations.findIndex((each) => !isKnown(each));
  const knownViolations = unknown < 0 ? violations : violations.slice(0, unknown);
  const description = describeViolations(knownViolations);
  // A detail that begins in another way is from a release that worded the same rules differently.
  const rest = detail.startsWith(description) ? detail.slice(description.length).replace(/^; /, "") : "";
  return [...violationTexts(reader, knownViolations), ...(rest === "" ? [] : [quote(rest)])];
}
