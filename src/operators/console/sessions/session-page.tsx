import { isRefusedFor } from "../../../core/errors.ts";
import { isVisible } from "../../../core/fields.ts";
import { pathId } from "../../http/path-id.ts";
import { sessionUnknown } from "../../services/refusals.ts";
import { readTimeline } from "../../services/session-timeline.ts";
import { readSession, type StoredSession } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Field } from "../parts/form.tsx";
import { Ago } from "../parts/parts.tsx";
import { Conversation } from "./conversation.tsx";
import { SessionFacts } from "./session-facts.tsx";
import { Status } from "./session-table.tsx";
import { Timeline } from "./timeline.tsx";

export async function sessionPage(c: PageContext, site: Site): Promise<Response> {
  const { view, ctx } = c.var;
  const { t } = view;
  const storedSession = await findSession(c, site);
  if (storedSession === undefined) return missingPage(c, site);
  const timeline = await readTimeline(ctx, { site, storedSession });
  const { session } = storedSession;
  const body = (
    <>
      <p class="lead line-of">
        <span>{t("Session {0}", session.id)}</span>
        <Status view={view} status={session.status} />
        <Ago at={session.createdAt} />
      </p>
      <div class="talk">
        <Conversation view={view} stored={storedSession} />
        <SessionFacts view={view} site={site} stored={storedSession} title={titleOf(storedSession)} />
        <Timeline view={view} site={site} stored={storedSession} timeline={timeline} />
      </div>
    </>
  );
  const title = t("Session {0}", session.id);
  const heading = titleOf(storedSession);
  return showPage(c, {
    title,
    heading: heading && <bdi>{heading}</bdi>,
    body,
    site: { ...site, tab: "sessions" },
  });
}

/** The title that lists show too; undefined when it is invisible. */
function titleOf({ session }: StoredSession): string | undefined {
  const title = session.agentTitle ?? session.autoTitle;
  return isVisible(title) ? title : undefined;
}

/** The page for a session that the site does not have. It keeps the tabs, so that the reader can go on. */
function missingPage(c: PageContext, site: Site): Promise<Response> {
  const { t } = c.var.view;
  const path = `/console/sites/${site.id}/sessions`;
  const body = (
    <>
      <p class="lead">{t("It was never there, was erased, or is older than this site keeps sessions.")}</p>
      <search class="filter">
        <form method="get" action={path}>
          <Field label={t("Session (chat_id)")} name="chat_id" maxlength={16} inputmode="numeric" required />
          <button type="submit">{t("Find")}</button>
          <a class="button plain" href={path}>
            {t("All sessions")}
          </a>
        </form>
      </search>
    </>
  );
  const title = t("This site has no session {0}", c.req.param("chat_id"));
  return showPage(c, { title, site: { ...site, tab: "sessions" }, body }, 404);
}

/** The session that the path names; undefined when the site does not have it. */
async function findSession(c: PageContext, site: Site): Promise<StoredSession | undefined> {
  try {
    return await readSession(c.var.ctx, { site, chatId: pathId(c, "chat_id", sessionUnknown) });
  } catch (error) {
    if (isRefusedFor(error, "session_unknown")) return undefined;
    throw error;
  }
}
