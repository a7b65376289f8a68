import type { Child } from "hono/jsx";
import { ENDED_SECRETS, type RotationInput, rotationSchema } from "../../services/rotation.ts";
import type { PageContext } from "../env.ts";
import { type EnteredFields, formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { askPage } from "../parts/ask.tsx";
import { AskLink, type Fields, FieldsForm } from "../parts/form.tsx";
import { type FactRows, Facts, TimeUntil } from "../parts/parts.tsx";
import { useView, type View } from "../view.ts";
import { endingFacts, hasOverlap, refusedLocation, type ShownSecretOwner, secretLocation } from "./secret-owner.tsx";

/** The fields of a rotation. No secret is chosen at first, because each choice ends one. */
export const rotationFields = ({ t }: View): Fields => ({
  overlap_seconds: {
    label: t("Overlap"),
    value: "86400",
    options: [
      ["0", t("None: the secret in use stops now")],
      ["3600", t("1 hour")],
      ["86400", t("24 hours")],
      ["604800", t("7 days")],
    ],
  },
  ends: {
    label: t("Which secret stops"),
    options: [
      ["", t("Please choose")],
      ["previous", t("The old one: the secret in use goes on working for the overlap")],
      ["current", t("The one made last, because nobody received it: the old one keeps its time")],
    ],
  },
});

/** The card that rotates the secret, for readers who may do so. */
export function RotateCard({
  owner,
  filledForm,
}: {
  owner: Omit<ShownSecretOwner, "page">;
  filledForm: FilledForm | undefined;
}) {
  const view = useView();
  const { t } = view;
  const { path, version, previousExpiresAt, previousUse } = owner;
  const action = `${path}/rotate`;
  if (!view.may(action)) return null;
  const isRunning = hasOverlap(owner, view.now);
  const { ends, ...fields } = rotationFields(view);
  return (
    <section class="card" id="rotate">
      <h2>{t("Rotate the secret")}</h2>
      <p>
        {t("Makes a new secret. The one in use goes on working for the overlap, so that there is time to change over.")}
      </p>
      {isRunning ? (
        <p>
          {t(
            "An overlap is running: the old secret works until {0}. Rotating now stops one of the two; say which, and you are asked first.",
            view.time(previousExpiresAt ?? 0),
          )}
        </p>
      ) : (
        <RotationSteps isCounted={previousUse !== undefined} />
      )}
      <FieldsForm
        action={action}
        hidden={{ version }}
        fields={{ ...fields, ...(isRunning && { ends }) }}
        filled={filledForm}
        button={t("Rotate")}
        plain
      />
    </section>
  );
}

/**
 * Shown while an overlap runs: what to do until the old secret stops, its time and last use, and the button that stops it now.
 *
 * @param props `use` is undefined where the uses of a secret are not counted
 */
export function OverlapCard(props: { owner: Pick<ShownSecretOwner, "path" | "previousExpiresAt">; use?: Child }) {
  const { owner, use } = props;
  const { t, now } = useView();
  if (!hasOverlap(owner, now)) return null;
  return (
    <section class="card overlap" id="overlap">
      <h2>{t("Two secrets work now")}</h2>
      <div>
        <Facts
          rows={[
            [t("The old one works until"), <TimeUntil at={owner.previousExpiresAt ?? 0} />],
            use !== undefined && [t("Its last use"), use],
          ]}
        />
        <div class="buttons">
          <AskLink href={`${owner.path}/end-overlap`}>{t("The old secret stops now")}…</AskLink>
        </div>
      </div>
      <RotationSteps isCounted={use !== undefined} isBegun />
    </section>
  );
}

/**
 * How a secret is changed without an outage, step by step.
 *
 * @param props `isCounted`: whether the console can say when the old secret was last used; `isBegun`: whether an overlap runs
 */
export function RotationSteps({ isCounted, isBegun }: { isCounted: boolean; isBegun?: boolean }) {
  const { t } = useView();
  const counted = t("Half an hour later, see on this page that the old one is not used any more.");
  return (
    <ol class="steps progress">
      <li class={isBegun ? "done" : undefined}>
        {t("Rotate with an overlap: both secrets work.")} {isBegun && <span class="hint">{t("Done.")}</span>}
      </li>
      <li aria-current={isBegun && "step"}>{t("Put the new secret wherever the old one is used.")}</li>
      <li>{isCounted ? counted : t("See that everything works with the new one.")}</li>
      <li>{t("Stop the old one, or let it end by itself.")}</li>
    </ol>
  );
}

/** Answers the form of {@link RotateCard}, and the form of the page that asks before the rotation. */
export async function rotateSecret(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const form = await readForm(c);
  const { overlap_seconds = "", ends = "", version = "", confirmed } = form;
  const { path } = owner;
  const entered = enteredIn(c.var.view, owner, form);
  const question = "input" in entered ? questionOf(path, entered.input) : undefined;
  const rotate = async (input: RotationInput) => {
    const rotated = await owner.rotate({ ...input, expectedVersion: version });
    return secretLocation(c, path, rotated.version);
  };
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
      return rotate(input).catch((error) => refusedLocation(c, path, error));
    },
  });
}

/** The overlap in a field, in seconds; undefined for any other text. An empty field is checked first, because Number("") is 0. */
function overlapOf(text = ""): number | undefined {
  const overlap_seconds = /^\d+$/.test(text) ? Number(text) : text;
  return rotationSchema.safeParse({ overlap_seconds }).data?.overlap_seconds;
}

/** The chosen secret; undefined for any other text. */
const endsOf = (text: string | undefined) => ENDED_SECRETS.find((each) => each === text);

/** The rotation that a form asks for. While an overlap runs, the form must name the secret to end. */
function enteredIn(
  { t, now }: View,
  owner: ShownSecretOwner,
  form: Record<string, string>,
): EnteredFields<RotationInput> {
  const overlapSeconds = overlapOf(form.overlap_seconds);
  if (overlapSeconds === undefined) return { errors: { overlap_seconds: t("Choose one of the overlaps.") } };
  const ends = endsOf(form.ends);
  if (overlapSeconds > 0) {
    // A form for another version is refused as a whole, so its fields are not checked.
    const isDue = form.version === owner.version && owner.isActive && hasOverlap(owner, now);
    if (isDue && ends === undefined) return { errors: { ends: t("Choose which secret ends.") } };
    return { input: { overlapSeconds, ends } };
  }
  if (ends === "current") return { errors: { ends: t("Without an overlap both stop, so the old one keeps no time.") } };
  return { input: { overlapSeconds } };
}

/** The address of the page that asks before a rotation. */
const questionOf = (path: string, { overlapSeconds, ends }: RotationInput): string =>
  `${path}/rotate?overlap_seconds=${overlapSeconds}${ends === undefined ? "" : `&ends=${ends}`}`;

/** Asks before a rotation ends a secret that a program may still use. It says which secret ends, and when. */
export async function confirmPage(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const { t, time, now } = c.var.view;
  const { site, path, version, words } = owner;
  const entered = enteredIn(c.var.view, owner, { ...c.req.query(), version });
  const isRunning = hasOverlap(owner, now);
  if (!("input" in entered) || !owner.isActive) return c.redirect(path, 303);
  const { overlapSeconds, ends } = entered.input;
  const endsCurrent = ends === "current";
  if (endsCurrent && !isRunning) return c.redirect(path, 303);
  const until = time(owner.previousExpiresAt ?? 0);
  const asBefore: FactRows = [isRunning && [t("The old secret"), t("Works until {0}, as before.", until)]];
  const previous =
    isRunning && !endsCurrent
      ? await endingFacts(c, owner, t("Without this rotation it works until {0}.", until))
      : [...owner.facts, ...asBefore];
  return askPage(c, {
    site,
    title: t("Rotate the secret?"),
    text: words.stopped,
    facts: [
      ...previous,
      [
        endsCurrent ? t("The secret made last, which nobody received") : t("The secret in use"),
        overlapSeconds === 0 || endsCurrent ? (
          <strong>{t("Stops at once.")}</strong>
        ) : (
          t("Works until {0}.", time(now + overlapSeconds))
        ),
      ],
      [t("The new secret"), t("Works at once.")],
    ],
    hidden: { version, overlap_seconds: String(overlapSeconds), ...(ends && { ends }), confirmed: "yes" },
    button: t("Rotate now"),
    back: path,
  });
}
