import { AskLink } from "../parts/form.tsx";
import { Until } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { hasOverlap } from "./overlap.ts";
import type { SecretUse, ShownSecretOwner } from "./secret-owner.ts";

/** Before the previous secret ends: when it was last used. */
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

/** During an overlap: how long the previous secret is valid. @param props `stop` whether to offer its end; `use` when it was last used */
export function PreviousSecret(props: {
  view: View;
  of: Pick<ShownSecretOwner, "path" | "previousExpiresAt">;
  stop?: boolean;
  use?: SecretUse;
}) {
  const { view, of, stop, use } = props;
  return hasOverlap(of, view.now) ? (
    <>
      <dt>{view.t("Previous secret until")}</dt>
      <dd>
        <Until view={view} at={of.previousExpiresAt ?? 0} />
        {use !== undefined && <p class="hint">{use.used}</p>}
        {stop && (
          <div class="buttons">
            <AskLink view={view} href={`${of.path}/end-overlap`}>
              {view.t("The old secret stops now")}…
            </AskLink>
          </div>
        )}
      </dd>
    </>
  ) : null;
}
