import { fieldIssues } from "../../../core/fields.ts";
import { type KeptDeletion, keptDeletionsSchema } from "../../services/delete-again.ts";
import { type KeptReceipt, keptReceiptsSchema } from "../../services/erase-again.ts";
import type { Entered } from "../forms/form-action.ts";
import type { Filled } from "../forms/messages.ts";
import { Field } from "../parts/form.tsx";
import type { View } from "../view.ts";

interface Props {
  view: View;
  again: Filled | undefined;
  /** Whether the receipts are required: a deployment without KV stores none. With KV, the operator may have older receipts, or none. */
  isNeeded: boolean;
}

/** The receipts that the operator saved: of erasures, and of deleted sites. */
interface Kept {
  receipts: KeptReceipt[];
  deletions: KeptDeletion[];
}

/** The field for the receipts that the operator saved from the pages of erasures and of deleted sites. */
export function ReceiptsField({ view, again, isNeeded }: Props) {
  const { t } = view;
  const hint = isNeeded
    ? t(
        "This deployment has no KV: without the receipts of the last 31 days, customers who were erased since then come back, and so do sites that were deleted. Paste each list as it was shown, one a line. Leave it empty only if no customer was erased and no site deleted.",
      )
    : t(
        "Only those that you were told to keep before this deployment had KV. Paste each list as it was shown, one a line.",
      );
  const field = (
    <Field
      label={t("Receipts of erasures and deletions")}
      name="receipts"
      rows={6}
      value={again?.values.receipts}
      error={again?.errors.receipts}
      hint={hint}
      code
    />
  );
  return isNeeded ? (
    field
  ) : (
    <details class="fold" open={again?.values.receipts !== undefined}>
      <summary class="button">{t("Receipts from before KV was bound…")}</summary>
      {field}
    </details>
  );
}

/** Reads the receipts in a pasted text: one JSON list, or a list or a single receipt on each line. */
export function pastedReceipts({ t }: View, text: string): Entered<Kept> {
  const found: unknown[] = [];
  const refused = (error: string) => ({ errors: { receipts: error } });
  const whole = parsed(text);
  if (whole !== undefined) found.push(...[whole.value].flat());
  else {
    for (const [at, line] of text.split("\n").entries()) {
      if (line.trim() === "") continue;
      const one = parsed(line);
      if (one === undefined) return refused(t("Line {0} is not JSON. Was it cut off?", at + 1));
      found.push(...[one.value].flat());
    }
  }
  const kept: Kept = { receipts: [], deletions: [] };
  for (const [at, one] of found.entries()) {
    const checked = isDeletion(one) ? keptDeletionsSchema.safeParse([one]) : keptReceiptsSchema.safeParse([one]);
    if (!checked.success) {
      const [, ...field] = (fieldIssues(checked.error)[0]?.field ?? "").split(".");
      return refused(
        field.length === 0
          ? t("Number {0} is no receipt: paste it as it was shown.", at + 1)
          : t("Number {0} is not as it was shown: {1}", at + 1, field.join(".")),
      );
    }
    for (const each of checked.data) {
      if ("deletion_id" in each) kept.deletions.push(each);
      else kept.receipts.push(each);
    }
  }
  return { input: kept };
}

const isDeletion = (one: unknown): boolean => typeof one === "object" && one !== null && "deletion_id" in one;

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
