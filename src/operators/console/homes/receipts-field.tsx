import { fieldIssues } from "../../../core/fields.ts";
import { type KeptDeletion, keptDeletionsSchema } from "../../services/delete-again.ts";
import { type KeptReceipt, keptReceiptsSchema } from "../../services/erase-again.ts";
import type { EnteredFields } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { Field } from "../parts/form.tsx";
import type { View } from "../view.ts";

interface Props {
  view: View;
  filledForm: FilledForm | undefined;
  /** Whether the receipts are required: a deployment without KV stores none. With KV, the operator may have older receipts, or none. */
  isNeeded: boolean;
}

/** The receipts that the operator saved: of erasures, and of deleted sites. */
interface PastedReceipts {
  receipts: KeptReceipt[];
  deletions: KeptDeletion[];
}

/** The field for the receipts that the operator saved from the pages of erasures and of deleted sites. */
export function ReceiptsField({ view, filledForm, isNeeded }: Props) {
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
      value={filledForm?.values.receipts}
      error={filledForm?.errors.receipts}
      hint={hint}
      code
    />
  );
  return isNeeded ? (
    field
  ) : (
    <details class="fold" open={filledForm?.values.receipts !== undefined}>
      <summary class="button">{t("Receipts from before KV was bound…")}</summary>
      {field}
    </details>
  );
}

/** Reads the receipts in a pasted text: one JSON list, or a list or a single receipt on each line. */
export function pastedReceipts({ t }: View, text: string): EnteredFields<PastedReceipts> {
  const entries: unknown[] = [];
  const receiptsError = (error: string) => ({ errors: { receipts: error } });
  const whole = parseLine(text);
  if (whole !== undefined) entries.push(...[whole.value].flat());
  else {
    for (const [at, line] of text.split("\n").entries()) {
      if (line.trim() === "") continue;
      const parsedLine = parseLine(line);
      if (parsedLine === undefined) return receiptsError(t("Line {0} is not JSON. Was it cut off?", at + 1));
      entries.push(...[parsedLine.value].flat());
    }
  }
  const pasted: PastedReceipts = { receipts: [], deletions: [] };
  for (const [at, one] of entries.entries()) {
    const checked = isDeletion(one) ? keptDeletionsSchema.safeParse([one]) : keptReceiptsSchema.safeParse([one]);
    if (!checked.success) {
      const [, ...field] = (fieldIssues(checked.error)[0]?.field ?? "").split(".");
      return receiptsError(
        field.length === 0
          ? t("Number {0} is no receipt: paste it as it was shown.", at + 1)
          : t("Number {0} is not as it was shown: {1}", at + 1, field.join(".")),
      );
    }
    for (const each of checked.data) {
      if ("deletion_id" in each) pasted.deletions.push(each);
      else pasted.receipts.push(each);
    }
  }
  return { input: pasted };
}

const isDeletion = (one: unknown): boolean => typeof one === "object" && one !== null && "deletion_id" in one;

function parseLine(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
