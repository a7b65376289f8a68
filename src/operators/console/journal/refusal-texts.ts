import type { Refusal } from "../../services/journal.ts";
import { faultText } from "../fault-texts.ts";
import type { View } from "../view.ts";
import { faultOfOldText } from "./details-of-old-rows.ts";

/** What a row of the journal says of its call in the reader's language, one text for each part of its detail. An unknown part is quoted. */
export function refusalTexts(view: Pick<View, "t">, { detail }: Pick<Refusal, "detail">): string[] {
  const parts = (detail ?? "").split("; ").filter((part) => part !== "");
  return parts.map((part) => {
    const fault = faultOfOldText(part);
    return fault === undefined ? `“${part}”` : faultText(view, fault);
  });
}
