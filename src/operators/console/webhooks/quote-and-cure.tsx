import type { View } from "../view.ts";

/** Shown below a failure: the receiver's own text, if it sent one, and what to do. */
export function QuoteAndCure({ view, quote, cure }: { view: View; quote: string; cure: string | undefined }) {
  return (
    <>
      {quote !== "" && (
        <p class="hint">
          {view.t("It said:")} <q class="long">{quote}</q>
        </p>
      )}
      {cure !== undefined && <p class="hint">{cure}</p>}
    </>
  );
}
