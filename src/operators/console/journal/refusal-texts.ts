import { describeViolations } from "../../../core/describe-violations.ts";
import type { Refusal } from "../../services/journal.ts";
import { isKnown, quoted, type Reader, violationTexts } from "../violation-texts.ts";
import { textsOfOldRow } from "./details-of-old-rows.ts";

/**
 * What is stored of a refused call in the reader's language: a text for each of its violations. What its detail says after the last one
 * that is known is quoted: it was cut off, is a sentence for operators, or comes from another release.
 */
export function refusalTexts(reader: Reader, { detail, violations }: Pick<Refusal, "detail" | "violations">): string[] {
  if (detail === null) return [];
  if (violations === null) return textsOfOldRow(reader, detail);
  const unknown = violations.findIndex((each) => !isKnown(each));
  const known = unknown < 0 ? violations : violations.slice(0, unknown);
  const said = describeViolations(known);
  // A text that begins otherwise is that of a release with other words for the same rules.
  const rest = detail.startsWith(said) ? detail.slice(said.length).replace(/^; /, "") : "";
  return [...violationTexts(reader, known), ...(rest === "" ? [] : [quoted(rest)])];
}
