import type { FilledForm } from "../forms/messages.ts";
import { Field, Form } from "../parts/form.tsx";
import type { View } from "../view.ts";
import { choicesOf, hasOverlap, overlapsOf } from "./overlap.ts";
import { RotationSteps } from "./overlap-card.tsx";
import type { ShownSecretOwner } from "./secret-owner.ts";

/** The card that rotates the secret, for readers who may do so. */
export function RotateCard(props: {
  view: View;
  owner: Omit<ShownSecretOwner, "page">;
  filledForm: FilledForm | undefined;
}) {
  const { view, owner, filledForm } = props;
  const { t } = view;
  if (!view.may(`${owner.path}/rotate`)) return null;
  return (
    <section class="card" id="rotate">
      <h2>{t("Rotate the secret")}</h2>
      <p>
        {t("Makes a new secret. The one in use goes on working for the overlap, so that there is time to change over.")}
      </p>
      {!hasOverlap(owner, view.now) && <RotationSteps view={view} isCounted={owner.previousUse !== undefined} />}
      {hasOverlap(owner, view.now) && (
        <p>
          {t(
            "An overlap is running: the previous secret works until {0}. Rotating now stops one of the two; say which, and you are asked first.",
            view.time(owner.previousExpiresAt ?? 0),
          )}
        </p>
      )}
      <Form action={`${owner.path}/rotate`}>
        <input type="hidden" name="version" value={owner.version} />
        <Field
          label={t("Overlap")}
          name="overlap_seconds"
          value={filledForm?.values.overlap_seconds ?? "86400"}
          error={filledForm?.errors.overlap_seconds}
          options={overlapsOf(view)}
        />
        {hasOverlap(owner, view.now) && (
          <Field
            label={t("Which secret stops")}
            name="ends"
            value={filledForm?.values.ends}
            error={filledForm?.errors.ends}
            options={choicesOf(view)}
          />
        )}
        <button type="submit">{t("Rotate")}</button>
      </Form>
    </section>
  );
}
