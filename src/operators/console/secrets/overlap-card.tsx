import { AskLink } from "../parts/form.tsx";
import { type FactRows, Facts, TimeUntil } from "../parts/parts.tsx";
import { useView } from "../view.ts";
import { hasOverlap, type SecretUse, type ShownSecretOwner } from "./secret-owner.ts";

/**
 * Shown while an overlap runs: what to do until the old secret stops, its time and last use, and the button that stops it now.
 *
 * @param props `use` is undefined where the uses of a secret are not counted
 */
export function OverlapCard(props: {
  owner: Pick<ShownSecretOwner, "path" | "previousExpiresAt">;
  use?: SecretUse | undefined;
}) {
  const { owner, use } = props;
  const { t, now } = useView();
  if (!hasOverlap(owner, now)) return null;
  const untilFact = [t("The old one works until"), <TimeUntil at={owner.previousExpiresAt ?? 0} />] as const;
  return (
    <section class="card overlap" id="overlap">
      <h2>{t("Two secrets work now")}</h2>
      <div>
        <Facts rows={[[...untilFact], useFact(t("Its last use"), use)]} />
        <div class="buttons">
          <AskLink href={`${owner.path}/end-overlap`}>{t("The old secret stops now")}…</AskLink>
        </div>
      </div>
      <RotationSteps isCounted={use !== undefined} isBegun />
    </section>
  );
}

/** When the previous secret was last used, as a fact. */
export const useFact = (label: string, use: SecretUse | undefined): FactRows[number] =>
  use && [
    label,
    <>
      {use.used}
      {use.counted !== "" && <span class="hint line">{use.counted}</span>}
    </>,
  ];

/**
 * How a secret is changed without an outage, step by step.
 *
 * @param props `isCounted`: whether the console can say when the old secret was last used; `isBegun`: whether an overlap runs
 */
export function RotationSteps({ isCounted, isBegun }: { isCounted: boolean; isBegun?: boolean }) {
  const { t } = useView();
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
