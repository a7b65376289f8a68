import { unlessRefusedFor } from "../../../core/errors.ts";
import type { AuditAction } from "../../services/audit.ts";
import type { Site } from "../../services/sites.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { ticketEnd } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { form, page } from "../page-call.ts";
import { ButtonLink, Facts, NoticeBox, TimeUntil } from "../parts/parts.tsx";
import {
  confirmPage,
  endOverlap,
  endPage,
  OverlapCard,
  rotateSecret,
  type ShownSecretOwner,
  secretPurpose,
} from "./rotate-secret.tsx";

/** The calls below a path that rotate the secret of an app or a webhook, show the new secret, and end the old one. */
export function secretPages(
  base: `/sites/:site_id${string}`,
  audit: { rotated: AuditAction; ended: AuditAction },
  ownerOf: (c: PageContext, site: Site) => Promise<ShownSecretOwner>,
): ConsoleCall[] {
  const ofOwner =
    (answer: (c: PageContext, owner: ShownSecretOwner) => Promise<Response>) => async (c: PageContext, site: Site) =>
      answer(c, await ownerOf(c, site));
  return [
    page("operator", `${base}/rotate`, ofOwner(confirmPage)),
    form("operator", `${base}/rotate`, [audit.rotated], ofOwner(rotateSecret)),
    page("operator", `${base}/end-overlap`, ofOwner(endPage)),
    form("operator", `${base}/end-overlap`, [audit.ended], ofOwner(endOverlap)),
    page("operator", `${base}/secret`, ofOwner(secretPage)),
  ];
}

/** Shows the secret to the reader whom `secretLocation` sent here. */
async function secretPage(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const { t, session, now } = c.var.view;
  const { site, path, words, version } = owner;
  const ticket = c.req.query("ticket") ?? "";
  const end = session && (await ticketEnd(session, secretPurpose(path, version), ticket, now));
  const secret = end && (await owner.read().catch(unlessRefusedFor("app_revoked", "version_other")));
  if (!end || !secret) return notShownPage(c, owner);
  const [use, next] = await Promise.all([owner.previousUse?.(), owner.next?.()]);
  // An open page reloads when the ticket ends, so that the secret does not stay on the screen.
  c.header("refresh", String(end - now));
  const body = (
    <>
      <NoticeBox kind="note" title={t("Copy the secret now")}>
        <p>
          {t(
            "It is shown on this page alone, while you are signed in and no longer than ten minutes; it is stored sealed.",
          )}
        </p>
        <p>{words.use}</p>
      </NoticeBox>
      <section class="card">
        <Facts
          rows={[...owner.facts, [t("Secret"), secret, "secret"], [t("Shown here until"), <TimeUntil at={end} />]]}
        />
        <ButtonLink href={path} label={t("I have saved it")} />
      </section>
      <OverlapCard owner={owner} use={use} />
      {next}
    </>
  );
  return showPage(c, { site, title: c.req.query("new") ? words.made : t("The secret was rotated"), body });
}

function notShownPage(c: PageContext, { site, path }: ShownSecretOwner): Promise<Response> {
  const { t } = c.var;
  const body = (
    <section class="card">
      <p>
        {t(
          "A secret is shown for ten minutes, only in the session that created it, and not after the next rotation. It is not shown again. If it was not kept, rotate: that makes another. While an overlap runs, let the one made last stop, because nobody has it.",
        )}
      </p>
      <p>
        <ButtonLink href={`${path}#rotate`} label={t("Rotate the secret")} />
      </p>
    </section>
  );
  return showPage(c, { site, title: t("This secret is no longer shown"), body }, 410);
}
