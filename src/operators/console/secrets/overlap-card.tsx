import { AskLink } from "../parts/form.tsx";
import { TimeUntil } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { hasOverlap } from "./overlap.ts";
import type { SecretUse, ShownSecretOwner } from "./secret-owner.ts";

/**
 * Shown while an overlap runs: what to do until the old secret stops, its time and last use, and the button that stops it now.
 *
 * @param props `use` is undefined where the uses of a secret are not counted
 */
export function OverlapCard(props: {
  view: View;
  owner: Pick<ShownSecretOwner, "path" | "previousExpiresAt">;
  use: SecretUse | undefined;
}) {
  const { view, owner, use } = props;
  const { t } = view;
  if (!hasOverlap(owner, view.now)) return null;
  return (
    <section class="card overlap" id="overlap">
      <h2>{t("Two secrets work now")}</h2>
      <div>
        <dl class="facts">
          <dt>{t("The old one works until")}</dt>
          <dd>
            <TimeUntil at={owner.previousExpiresAt ?? 0} />
          </dd>
          {use !== undefined && (
            <>
              <dt>{t("Its last use")}</dt>
              <dd>
                {use.used} {use.counted !== "" && <span class="hint">{use.counted}</span>}
              </dd>
            </>
          )}
        </dl>
        <div class="buttons">
          <AskLink href={`${owner.path}/end-overlap`}>{t("The old secret stops now")}…</AskLink>
        </div>
      </div>
      <RotationSteps view={view} isCounted={use !== undefined} isBegun />
    </section>
  );
}

/**
 * How a secret is changed without an outage, step by step.
 *
 * @param props `isCounted`: whether the console can say when the old secret was last used; `isBegun`: whether an overlap runs
 */
export function RotationSteps({ view, isCounted, isBegun }: { view: View; isCounted: boolean; isBegun?: boolean }) {
  const { t } = view;
  return (
    <ol class="steps progress">
      <li class={isBegun ? "done" : undefined}>
        {t("Rotate with an overlap: both secrets work.")} {isBegun && <span class="hint">{t("Done.")}</span>}
      </li>
      <li aria-current={isBegun ? "step" : undefined}>{t("Put the new secret wherever the old one is used.")}</li>
      <li>
        {isCounted
          ? t("Half an hour later, see on this page that the old one is not used any more.")
          : t("See that everything works with the new one.")}
      </li>
      <li>{t("Stop the old one, or let it end by itself.")}</li>
    </ol>
  );
}
