import { isRefusedFor } from "../../../errors.ts";
import { sessionUnknown } from "../../../services/refusals.ts";
import { listSessions, readSession, SESSION_STATUSES } from "../../../services/sessions.ts";
import type { Site } from "../../../services/sites.ts";
import { pathId } from "../../path-id.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Field } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { More } from "../parts/table.tsx";
import { Conversation } from "./conversation.tsx";
import { SessionTable, statusText } from "./session-table.tsx";

export async function sessionsPage(c: PageContext, site: Site): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { ctx } = c.var;
  const path = `/console/sites/${site.id}/sessions`;
  // The browser sends empty fields too. An empty field does not filter.
  const { sbs = "", chat_id = "" } = c.req.query();
  const chatId = chat_id.trim();
  if (chatId) {
    const found = /^[1-9]\d{0,14}$/.test(chatId) && (await hasSession(c, site, Number(chatId)));
    if (found) return c.redirect(`${path}/${chatId}`, 303);
  }
  const status = SESSION_STATUSES.find((each) => each === c.req.query("status"));
  const page = { cursor: c.req.query("cursor"), limit: 20 };
  const sessions = await listSessions(ctx, { site, status, sbs: sbs || undefined, ...page });
  const statuses = SESSION_STATUSES.map((each): [string, string] => [each, statusText(view, each)]);
  const body = (
    <>
      {chatId && <NoticeBox kind="bad" title={t("This site has no session {0}", chatId)} />}
      <search>
        <form method="get" action={path} class="filter">
          <Field label={t("Status")} name="status" value={status} options={[["", t("Any")], ...statuses]} />
          <Field label={t("Customer (sbs)")} name="sbs" value={sbs} maxlength={64} />
          <Field label={t("Session (chat_id)")} name="chat_id" value={chatId} maxlength={16} />
          <button type="submit">{t("Find")}</button>
        </form>
      </search>
      <SessionTable view={view} siteId={site.id} sessions={sessions.items} />
      <More view={view} path={path} query={{ status, sbs }} cursor={sessions.nextCursor} />
    </>
  );
  return showPage(c, { title: t("Sessions"), site: { ...site, tab: "sessions" }, body });
}

export async function sessionPage(c: PageContext, site: Site): Promise<Response> {
  const chatId = pathId(c, "chat_id", sessionUnknown);
  const stored = await readSession(c.var.ctx, { site, chatId });
  const title = c.var.view.t("Session {0}", stored.session.id);
  const body = (
    <>
      <p class="lead">{stored.session.agentTitle ?? stored.session.autoTitle}</p>
      <Conversation view={c.var.view} siteId={site.id} stored={stored} />
    </>
  );
  return showPage(c, { title, site: { ...site, tab: "sessions" }, body });
}

async function hasSession(c: PageContext, site: Site, chatId: number): Promise<boolean> {
  try {
    await readSession(c.var.ctx, { site, chatId });
    return true;
  } catch (error) {
    if (isRefusedFor(error, "session_unknown")) return false;
    throw error;
  }
}
