import { isRefusedFor } from "../../../core/errors.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";
import { showPage } from "../layout.tsx";
import { Facts, NoticeBox, TimeUntil } from "../parts/parts.tsx";
import { OverlapCard } from "./overlap-card.tsx";
import type { ShownSecretOwner } from "./secret-owner.ts";

/**
 * The address of the page that shows a new secret. Only this console session can open it, for ten minutes.
 *
 * @param path  path of the owner's page
 * @param isNew whether the owner was made with this secret, and the secret was not rotated
 */
export async function secretLocation(c: PageContext, path: string, version: string, isNew = false): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  return `${path}/secret?ticket=${await ticketFor(session, purposeOf(path, version), now)}${isNew ? "&new=1" : ""}`;
}

// The purpose names the version. Otherwise the ticket would also show a newer secret that another operator made.
const purposeOf = (path: string, version: string) => ["secret", path, version];

/** Shows the secret to the reader whom {@link secretLocation} sent here. */
export async function secretPage(c: PageContext, owner: ShownSecretOwner): Promise<Response> {
  const { t, session, now } = c.var.view;
  const { site, path, words, version } = owner;
  const ticket = c.req.query("ticket") ?? "";
  const end = session && (await ticketEnd(session, purposeOf(path, version), ticket, now));
  const secret = end === undefined ? undefined : await readShown(owner);
  if (end === undefined || secret === undefined) return notShownPage(c, owner);
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
        <a class="button" href={path}>
          {t("I have saved it")}
        </a>
      </section>
      <OverlapCard owner={owner} use={use} />
      {next}
    </>
  );
  return showPage(c, { site, title: c.req.query("new") ? words.made : t("The secret was rotated"), body });
}

/** The secret; undefined when it is not shown any more. */
const readShown = ({ read }: ShownSecretOwner): Promise<string | undefined> =>
  read().catch((error) => {
    if (isRefusedFor(error, "app_revoked", "version_other")) return undefined;
    throw error;
  });

function notShownPage(c: PageContext, { site, path }: ShownSecretOwner): Promise<Response> {
  const { t } = c.var.view;
  const body = (
    <section class="card">
      <p>
        {t(
          "A secret is shown for ten minutes, only in the session that created it, and not after the next rotation. It is not shown again. If it was not kept, rotate: that makes another. While an overlap runs, let the one made last stop, because nobody has it.",
        )}
      </p>
      <p>
        <a class="button" href={`${path}#rotate`}>
          {t("Rotate the secret")}
        </a>
      </p>
    </section>
  );
  return showPage(c, { site, title: t("This secret is no longer shown"), body }, 410);
}
