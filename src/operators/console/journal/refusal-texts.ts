import { RULES } from "../../../core/rules.ts";
import type { Refusal } from "../../services/journal.ts";
import { faultText } from "../fault-texts.ts";
import type { View } from "../view.ts";
import { faultOfOldText } from "./details-of-old-rows.ts";

/**
 * What a row of the journal says of its call in the reader's language, one text for each part of its detail. A part without a fault is
 * quoted: it was cut off, is a sentence for operators, or breaks a rule that this release does not know.
 */
export function refusalTexts(view: Pick<View, "t">, { detail, faults }: Pick<Refusal, "detail" | "faults">): string[] {
  const parts = (detail ?? "").split("; ").filter((part) => part !== "");
  const known = faults ?? parts.map(faultOfOldText);
  return parts.map((part, i) => {
    const fault = known[i];
    return fault !== undefined && Object.hasOwn(RULES, fault.rule) ? faultText(view, fault) : `“${part}”`;
  });
}
