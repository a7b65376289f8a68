import type { View } from "../view.ts";
import type { SecretUse } from "./secret-owner.ts";

/** Shows when the previous secret was last used, before it is ended. */
export function LastUseFact({ view, use }: { view: View; use: SecretUse | undefined }) {
  if (use === undefined) return null;
  return (
    <>
      <dt>{view.t("Last use of the old secret")}</dt>
      <dd>
        {use.used}
        {use.counted !== "" && <span class="hint line">{use.counted}</span>}
      </dd>
    </>
  );
}
