import type { AuditAction } from "../../services/audit.ts";
import type { Site } from "../../services/sites.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { form, page } from "../page-call.ts";
import { askPage } from "../parts/ask.tsx";
import { secretPage } from "./new-secret-page.tsx";
import { useFact } from "./overlap-card.tsx";
import { confirmPage, rotateSecret } from "./rotate-secret.tsx";
import { hasOverlap, refusedLocation, type ShownSecretOwner } from "./secret-owner.ts";

/**
 * The calls that rotate the secret of an app or a webhook, show the new secret, and end the old one.
 *
 * @param base the start of their paths
 */
export function secretPages(
  base: `/sites/:site_id${string}`,
  audit: { rotated: AuditAction; ended: AuditAction },
  ownerOf: (c: PageContext, site: Site) => Promise<ShownSecretOwner>,
): ConsoleCall[] {
  const ofOwner = (answer: (c: PageContext, owner: ShownSecretOwner) => Promise<Response>) => {
    return async (c: PageContext, site: Site) => answer(c, await ownerOf(c, site));
  };
  return [
    page("operator", `${base}/rotate`, ofOwner(confirmPage)),
    form("operator", `${base}/rotate`, [audit.rotated], ofOwner(rotateSecret)),
    page("operator", `${base}/end-overlap`, ofOwner(endPage)),
    form("operator", `${base}/end-overlap`, [audit.ended], ofOwner(endOverlap)),
    page("operator", `${base}/secret`, ofOwner(secretPage)),
  ];
}

/** Asks before the previous secret ends, because a program may still use it. */
async function endPage(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const { t, now, time } = c.var.view;
  const { site, path, words, facts, version } = owner;
  if (!owner.isActive || !hasOverlap(owner, now)) return c.redirect(path, 303);
  const until = t("Otherwise it works until {0}.", time(owner.previousExpiresAt ?? 0));
  return askPage(c, {
    site,
    title: t("Stop the old secret now?"),
    text: words.stopped,
    facts: [
      ...facts,
      [
        t("The previous secret"),
        <>
          <strong>{t("Stops at once.")}</strong> {until}
        </>,
      ],
      useFact(t("Last use of the old secret"), await owner.previousUse?.()),
      [t("The secret in use"), t("Goes on working.")],
    ],
    hidden: { version },
    button: t("The old secret stops now"),
    back: path,
  });
}

/** Answers the form of {@link endPage}. */
async function endOverlap(c: PageContext, { path, endOverlap }: ShownSecretOwner): Promise<Response> {
  const form = await readForm(c);
  const end = async () => {
    await endOverlap(form.version ?? "");
    return doneLocation(c, path, "overlap_ended");
  };
  return buttonAction(c, form, { list: path, work: () => end().catch((error) => refusedLocation(c, path, error)) });
}
