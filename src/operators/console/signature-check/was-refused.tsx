import { WIRE_ERRORS } from "../../../core/errors.ts";
import { codeOfReason, type Refusal } from "../../services/journal.ts";
import { refusalTexts } from "../journal/refusal-texts.ts";
import { Time } from "../parts/parts.tsx";
import { reasonText } from "../reasons.ts";
import type { View } from "../view.ts";

/** A refused call, as the journal has it. */
export type RefusedCall = Pick<Refusal, "requestId" | "appid" | "at" | "status" | "reason" | "detail" | "violations">;

/** The answer to a refused call, the reason, and what to do. */
export function WasRefused({ view, call }: { view: View; call: RefusedCall }) {
  const { t } = view;
  const { requestId, at, status, reason, detail } = call;
  const { what, cure } = reasonText(view, reason);
  const texts = refusalTexts(view, call);
  const isPlain = reason === "fields_invalid" && texts.length > 0;
  const { message } = WIRE_ERRORS[codeOfReason(reason)];
  return (
    <section class="notice bad verdict" role="alert">
      <h2>{t("This call was answered {0} {1}", status, message)}</h2>
      <div class="cause">
        {!isPlain && <p class="found">{what}</p>}
        {texts.map((text) => (
          <p class={isPlain ? "found" : undefined}>{text}</p>
        ))}
        {!isPlain && <p>{cure}</p>}
        {detail && (
          <p class="hint">
            <code>x-error-detail: {detail}</code>
          </p>
        )}
      </div>
      <p class="hint">
        <Time at={at} /> · <code>{requestId}</code>
      </p>
    </section>
  );
}
