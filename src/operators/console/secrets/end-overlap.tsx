import { isRefusedFor } from "../../../core/errors.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { askPage } from "../parts/ask.tsx";
import { LastUseFact } from "./last-use-fact.tsx";
import { hasOverlap } from "./overlap.ts";
import type { ShownSecretOwner } from "./secret-owner.ts";

/** The page after a refusal. @throws the error, when it is not one of these refusals */
export function refusedLocation(c: PageContext, path: string, error: unknown): Promise<string> {
  if (isRefusedFor(error, "app_revoked")) return doneLocation(c, path, "revoked_before");
  if (isRefusedFor(error, "version_other")) return doneLocation(c, path, "rotated_before");
  throw error;
}

/** Answers the form of {@link endPage}. */
export async function endOverlap(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const form = await readForm(c);
  const { path } = owner;
  return buttonAction(c, form, {
    draft: { path: `${path}/end-overlap` },
    list: path,
    work: async () => {
      try {
        await owner.endOverlap(form.version ?? "");
        return await doneLocation(c, path, "overlap_ended");
      } catch (error) {
        return refusedLocation(c, path, error);
      }
    },
  });
}

/** Asks before the previous secret ends, because a program may still use it. */
export async function endPage(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  if (!owner.isActive || !hasOverlap(owner, view.now)) return c.redirect(owner.path, 303);
  const use = await owner.previousUse?.();
  return askPage(c, {
    site: owner.site,
    title: t("Stop the old secret now?"),
    text: owner.words.stopped,
    facts: (
      <>
        {owner.facts}
        <dt>{t("The previous secret")}</dt>
        <dd>
          <strong>{t("Stops at once.")}</strong>{" "}
          {t("Otherwise it works until {0}.", view.time(owner.previousExpiresAt ?? 0))}
        </dd>
        <LastUseFact view={view} use={use} />
        <dt>{t("The secret in use")}</dt>
        <dd>{t("Goes on working.")}</dd>
      </>
    ),
    action: `${owner.path}/end-overlap`,
    hidden: { version: owner.version },
    button: t("The old secret stops now"),
    keep: t("Cancel"),
    back: owner.path,
  });
}
