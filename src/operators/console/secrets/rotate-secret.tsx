import type { Child } from "hono/jsx";
import { isRefusedFor } from "../../../core/errors.ts";
import { ENDED_SECRETS, type RotationInput, rotationSchema } from "../../services/rotation.ts";
import type { PageContext } from "../env.ts";
import { buttonAction, type EnteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm, ticketFor } from "../forms/messages.ts";
import { askPage } from "../parts/ask.tsx";
import { AskLink, type Fields, FieldsForm } from "../parts/form.tsx";
import { Card, type FactRows, Facts, TimeUntil } from "../parts/parts.tsx";
import type { FramedSite } from "../parts/site-frame.tsx";
import { useView, type View } from "../view.ts";

/** An app or a webhook, as the pages of its secret need it. */
export interface ShownSecretOwner {
  site: FramedSite;
  path: string;
  version: string;
  previousExpiresAt: number | null;
  /** False for a revoked app. */
  isActive: boolean;
  /** What says which owner it is. */
  facts: FactRows;
  /** The title of the page after it was made, what its secret is used for, and what an ended secret does to who still uses it. */
  words: { made: string; use: Child; stopped: string };
  read: () => Promise<string>;
  /** @throws ServiceError `conflict`, reason `app_revoked`, `overlap_over`, or `version_other` when the secret was rotated meanwhile */
  rotate: (input: RotationInput) => Promise<{ version: string }>;
  /** @throws ServiceError `conflict`, reason `app_revoked`, or `version_other` when the secret was rotated meanwhile */
  endOverlap: (expectedVersion: string) => Promise<unknown>;
  /** Says when the previous secret was last used. Undefined for webhooks, whose receivers use the secret without telling us. */
  previousUse?: () => Promise<Child>;
  /** The next step with a new secret. It is shown below the secret. */
  next?: () => Promise<Child>;
  /** Shows the owner's page again, with the filled-in form of a rotation. */
  page: (filledForm: FilledForm) => Promise<Response>;
}

/** Whether the previous secret is still valid. */
export const hasOverlap = ({ previousExpiresAt }: { previousExpiresAt: number | null }, now: number): boolean =>
  (previousExpiresAt ?? 0) > now;

/** The address of the page that shows a new secret, to this console session for ten minutes. @param isNew its owner was made with it */
export async function secretLocation(c: PageContext, path: string, version: string, isNew = false): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  const ticket = await ticketFor(session, secretPurpose(path, version), now);
  return `${path}/secret?ticket=${ticket}${isNew ? "&new=1" : ""}`;
}

/** What a ticket of that page is for. Without the version it would also show a newer secret that another operator made. */
export const secretPurpose = (path: string, version: string): string[] => ["secret", path, version];

/** The first facts of a question that ends the previous secret: its owner, and when it was last used. @param otherwise what holds without the change */
async function endingFacts({ t }: View, owner: ShownSecretOwner, otherwise: string): Promise<FactRows> {
  const use = await owner.previousUse?.();
  const stops = (
    <>
      <strong>{t("Stops at once.")}</strong> {otherwise}
    </>
  );
  return [...owner.facts, [t("The old secret"), stops], use !== undefined && [t("Last use of the old secret"), use]];
}

/** The page after a refusal. @throws the error, when it is not one of these refusals */
export function refusedLocation(c: PageContext, path: string, error: unknown): Promise<string> {
  if (isRefusedFor(error, "app_revoked")) return doneLocation(c, path, "revoked_before");
  if (isRefusedFor(error, "version_other")) return doneLocation(c, path, "rotated_before");
  if (isRefusedFor(error, "overlap_over")) return doneLocation(c, path, "overlap_over");
  throw error;
}

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
export function RotateCard(props: { owner: Omit<ShownSecretOwner, "page">; filledForm: FilledForm | undefined }) {
  const { path, version, previousExpiresAt, previousUse } = props.owner;
  const view = useView();
  const { t, time } = view;
  if (!view.may(`${path}/rotate`)) return null;
  const isRunning = hasOverlap(props.owner, view.now);
  const { ends, ...fields } = rotationFields(view);
  return (
    <Card id="rotate" title={t("Rotate the secret")}>
      <p>{t("Makes a new secret. The one in use works until the overlap ends: time to change over.")}</p>
      {isRunning ? (
        <p>
          {t(
            "An overlap is running: the old secret works until {0}. Rotating now stops one of the two; say which, and you are asked first.",
            time(previousExpiresAt ?? 0),
          )}
        </p>
      ) : (
        <RotationSteps isCounted={previousUse !== undefined} />
      )}
      <FieldsForm
        action={`${path}/rotate`}
        hidden={{ version }}
        fields={{ ...fields, ...(isRunning && { ends }) }}
        filled={props.filledForm}
        button={t("Rotate")}
        plain
      />
    </Card>
  );
}

type OverlapOwner = Pick<ShownSecretOwner, "path" | "previousExpiresAt">;

/** What to do while an overlap runs. @param props `use`: the old secret's last use; undefined where the uses are not counted */
export function OverlapCard({ owner, use }: { owner: OverlapOwner; use?: Child }) {
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

/** How a secret is changed without an outage. @param props `isCounted`: the uses of the old secret are; `isBegun`: an overlap runs */
function RotationSteps({ isCounted, isBegun }: { isCounted: boolean; isBegun?: boolean }) {
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
  const { overlap_seconds = "", ends = "", version = "", confirmed } = c.var.form;
  const { path } = owner;
  const entered = enteredIn(c.var.view, owner, c.var.form);
  return formAction(c, {
    values: { overlap_seconds, ends },
    entered,
    page: owner.page,
    draft: confirmed && "input" in entered ? { path: questionOf(path, entered.input) } : undefined,
    list: path,
    work: async (input) => {
      // The operator must confirm a rotation that ends a secret which a program may still use.
      const endsOneSecret = input.overlapSeconds === 0 || hasOverlap(owner, c.var.view.now);
      if (owner.isActive && version === owner.version && !confirmed && endsOneSecret) return questionOf(path, input);
      return owner.rotate({ ...input, expectedVersion: version }).then(
        (rotated) => secretLocation(c, path, rotated.version),
        (error) => refusedLocation(c, path, error),
      );
    },
  });
}

/** The rotation that a form asks for. While an overlap runs, the form must name the secret to end. */
function enteredIn(
  { t, now }: View,
  { version, isActive, previousExpiresAt }: ShownSecretOwner,
  { overlap_seconds: text = "", ...form }: Record<string, string>,
): EnteredFields<RotationInput> {
  // Number("") is 0, but an empty field is no choice.
  const checked = rotationSchema.safeParse({ overlap_seconds: /^\d+$/.test(text) ? Number(text) : text });
  if (!checked.success) return { errors: { overlap_seconds: t("Choose one of the overlaps.") } };
  const overlapSeconds = checked.data.overlap_seconds;
  const ends = ENDED_SECRETS.find((each) => each === form.ends);
  if (overlapSeconds === 0)
    return ends === "current"
      ? { errors: { ends: t("Without an overlap both stop, so the old one keeps no time.") } }
      : { input: { overlapSeconds } };
  // A form for another version is refused as a whole, so its fields are not checked.
  const isDue = form.version === version && isActive && hasOverlap({ previousExpiresAt }, now);
  if (isDue && ends === undefined) return { errors: { ends: t("Choose which secret ends.") } };
  return { input: { overlapSeconds, ends } };
}

/** The address of {@link confirmPage}. */
const questionOf = (path: string, { overlapSeconds, ends }: RotationInput): string =>
  `${path}/rotate?overlap_seconds=${overlapSeconds}${ends === undefined ? "" : `&ends=${ends}`}`;

/** Asks before a rotation ends a secret that a program may still use. It says which secret ends, and when. */
export async function confirmPage(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const { view, t } = c.var;
  const { site, path, version, words } = owner;
  const entered = enteredIn(view, owner, { ...c.req.query(), version });
  if (!("input" in entered) || !owner.isActive) return c.redirect(path, 303);
  const { overlapSeconds, ends } = entered.input;
  const isRunning = hasOverlap(owner, view.now);
  const endsCurrent = ends === "current";
  if (endsCurrent && !isRunning) return c.redirect(path, 303);
  const until = view.time(owner.previousExpiresAt ?? 0);
  const previous: FactRows =
    isRunning && !endsCurrent
      ? await endingFacts(view, owner, t("Without this rotation it works until {0}.", until))
      : [...owner.facts, isRunning && [t("The old secret"), t("Works until {0}, as before.", until)]];
  const current =
    overlapSeconds === 0 || endsCurrent ? (
      <strong>{t("Stops at once.")}</strong>
    ) : (
      t("Works until {0}.", view.time(view.now + overlapSeconds))
    );
  return askPage(c, {
    site,
    title: t("Rotate the secret?"),
    text: words.stopped,
    facts: [
      ...previous,
      [endsCurrent ? t("The secret made last, which nobody received") : t("The secret in use"), current],
      [t("The new secret"), t("Works at once.")],
    ],
    hidden: { version, overlap_seconds: String(overlapSeconds), ...(ends && { ends }), confirmed: "yes" },
    button: t("Rotate now"),
    back: path,
  });
}

/** Asks before the previous secret ends, because a program may still use it. */
export async function endPage(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const { view, t } = c.var;
  const { site, path, words, version } = owner;
  if (!owner.isActive || !hasOverlap(owner, view.now)) return c.redirect(path, 303);
  const until = view.time(owner.previousExpiresAt ?? 0);
  return askPage(c, {
    site,
    title: t("Stop the old secret now?"),
    text: words.stopped,
    facts: [
      ...(await endingFacts(view, owner, t("Otherwise it works until {0}.", until))),
      [t("The secret in use"), t("Goes on working.")],
    ],
    hidden: { version },
    button: t("The old secret stops now"),
    back: path,
  });
}

/** Answers the form of {@link endPage}. */
export async function endOverlap(c: PageContext, { path, endOverlap }: ShownSecretOwner): Promise<Response> {
  const work = () =>
    endOverlap(c.var.form.version ?? "").then(
      () => doneLocation(c, path, "overlap_ended"),
      (error) => refusedLocation(c, path, error),
    );
  return buttonAction(c, { list: path, work });
}
