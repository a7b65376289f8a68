import type { View } from "../view.ts";

/** Below a failure in words: what the receiver itself said, when it said something, and what one can do about it. */
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
