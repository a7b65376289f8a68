import { isRefusedFor } from "../../../core/errors.ts";
import type { RotationInput } from "../../services/rotation.ts";
import type { PageContext } from "../env.ts";
import { type EnteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { askPage } from "../parts/ask.tsx";
import type { View } from "../view.ts";
import { refusedLocation } from "./end-overlap.tsx";
import { LastUseFact } from "./last-use-fact.tsx";
import { secretLocation } from "./new-secret-page.tsx";
import { endsOf, hasOverlap, overlapOf } from "./overlap.ts";
import type { ShownSecretOwner } from "./secret-owner.ts";

/** Answers the form of {@link RotateCard}, and the form of the page that asks before the rotation. */
export async function rotateSecret(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const form = await readForm(c);
  const { overlap_seconds = "", ends = "", version = "", confirmed } = form;
  const { path } = owner;
  const entered = enteredIn(c.var.view, owner, form);
  const question = "input" in entered ? questionOf(path, entered.input) : undefined;
  return formAction(c, form, {
    values: { overlap_seconds, ends },
    entered,
    page: owner.page,
    draft: confirmed && question !== undefined ? { path: question } : undefined,
    list: path,
    work: async (input) => {
      // The operator must confirm a rotation that ends a secret which a program may still use.
      const endsOneSecret = input.overlapSeconds === 0 || hasOverlap(owner, c.var.view.now);
      if (owner.isActive && version === owner.version && !confirmed && endsOneSecret) return questionOf(path, input);
      try {
        const rotated = await owner.rotate({ ...input, expectedVersion: version });
        return await secretLocation(c, path, rotated.version);
      } catch (error) {
        if (isRefusedFor(error, "overlap_over")) return doneLocation(c, path, "overlap_over");
        return refusedLocation(c, path, error);
      }
    },
  });
}

/** The rotation that a form asks for. While an overlap runs, the form must name the secret to end. */
function enteredIn(
  { t, now }: View,
  owner: ShownSecretOwner,
  form: Record<string, string>,
): EnteredFields<RotationInput> {
  const overlapSeconds = overlapOf(form.overlap_seconds ?? "");
  if (overlapSeconds === undefined) return { errors: { overlap_seconds: t("Choose one of the overlaps.") } };
  const endedSecret = endsOf(form.ends ?? "");
  if (overlapSeconds > 0) {
    // A form for another version is refused as a whole, so its fields are not checked.
    const isDue = form.version === owner.version && owner.isActive && hasOverlap(owner, now);
    if (isDue && endedSecret === undefined) return { errors: { ends: t("Choose which secret ends.") } };
    return { input: { overlapSeconds, ends: endedSecret } };
  }
  if (endedSecret === "current")
    return { errors: { ends: t("Without an overlap both stop, so the old one keeps no time.") } };
  return { input: { overlapSeconds } };
}

/** The address of the page that asks before a rotation. */
const questionOf = (path: string, { overlapSeconds, ends }: RotationInput): string =>
  `${path}/rotate?overlap_seconds=${overlapSeconds}${ends === undefined ? "" : `&ends=${ends}`}`;

/** Asks before a rotation ends a secret that a program may still use. It says which secret ends, and when. */
export async function confirmPage(
  c: PageContext,
  owner: ShownSecretOwner,
  query: Record<string, string>,
): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const overlap = overlapOf(query.overlap_seconds ?? "");
  const endedSecret = overlap === 0 ? undefined : endsOf(query.ends ?? "");
  const isRunning = hasOverlap(owner, view.now);
  const isChosen = overlap === 0 || (isRunning ? endedSecret !== undefined : endedSecret !== "current");
  if (overlap === undefined || !isChosen || !owner.isActive) return c.redirect(owner.path, 303);
  const stops = <strong>{t("Stops at once.")}</strong>;
  const until = view.time(owner.previousExpiresAt ?? 0);
  const use = isRunning && endedSecret !== "current" ? await owner.previousUse?.() : undefined;
  return askPage(c, {
    site: owner.site,
    title: t("Rotate the secret?"),
    text: owner.words.stopped,
    facts: (
      <>
        {owner.facts}
        {isRunning && (
          <>
            <dt>{t("The previous secret")}</dt>
            <dd>
              {endedSecret === "current" ? (
                t("Works until {0}, as before.", until)
              ) : (
                <>
                  {stops} {t("Without this rotation it works until {0}.", until)}
                </>
              )}
            </dd>
            <LastUseFact view={view} use={use} />
          </>
        )}
        <dt>{endedSecret === "current" ? t("The secret made last, which nobody received") : t("The secret in use")}</dt>
        <dd>
          {overlap === 0 || endedSecret === "current" ? stops : t("Works until {0}.", view.time(view.now + overlap))}
        </dd>
        <dt>{t("The new secret")}</dt>
        <dd>{t("Works at once.")}</dd>
      </>
    ),
    action: `${owner.path}/rotate`,
    hidden: {
      version: owner.version,
      overlap_seconds: String(overlap),
      ...(endedSecret !== undefined && { ends: endedSecret }),
      confirmed: "yes",
    },
    button: t("Rotate now"),
    keep: t("Cancel"),
    back: owner.path,
  });
}
