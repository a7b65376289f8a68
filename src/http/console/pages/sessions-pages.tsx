import { isVisible } from "../../../fields.ts";
import { listSessionsOfSite } from "../../../services/list-sessions.ts";
import { readSession, type SessionRow, type SessionStatus, type StoredSession } from "../../../store/home/sessions.ts";
import { SESSION_STATUSES } from "../../../store/schema.ts";
import { notFound } from "../../admin/problem.ts";
import { idCursor, pathId } from "../../admin/read-input.ts";
import type { Routes } from "../../new-hono.ts";
import { siteOf } from "../../operator.ts";
import { show } from "../layout.tsx";
import { Badge, Field, More, Notice, Table, Time } from "../parts.tsx";
import type { View } from "../view.ts";

export function sessionsPages(routes: Routes): void {
  routes.get("/sites/:site_id/sessions", async (c) => {
    const v = c.var.view;
    const { t } = v;
    const { site, home } = await siteOf(c);
    const path = `/console/sites/${site.id}/sessions`;
    // A browser sends what was left empty too: it filters nothing.
    const { sbs = "", chat_id = "" } = c.req.query();
    const chatId = chat_id.trim();
    if (chatId) {
      const found = /^[1-9]\d{0,14}$/.test(chatId) && (await readSession(home, site.id, Number(chatId)));
      if (found) return c.redirect(`${path}/${chatId}`, 303);
    }
    const status = SESSION_STATUSES.find((each) => each === c.req.query("status"));
    const before = idCursor(c.req.query("cursor"), Number.MAX_SAFE_INTEGER);
    const sessions = await listSessionsOfSite(home, site.id, { status, sbs: sbs || undefined }, before, 20);
    const statuses = SESSION_STATUSES.map((each): [string, string] => [each, statusText(v, each)]);
    const body = (
      <>
        {chatId && <Notice kind="bad" title={t("This site has no session {0}", chatId)} />}
        <search>
          <form method="get" action={path} class="filter">
            <Field label={t("Status")} name="status" value={status} options={[["", t("Any")], ...statuses]} />
            <Field label={t("Customer (sbs)")} name="sbs" value={sbs} maxlength={64} />
            <Field label={t("Session (chat_id)")} name="chat_id" value={chatId} maxlength={16} />
            <button type="submit">{t("Find")}</button>
          </form>
        </search>
        <SessionTable v={v} siteId={site.id} sessions={sessions.items} />
        <More v={v} path={path} query={{ status, sbs }} cursor={sessions.next_cursor} />
      </>
    );
    return show(c, { title: t("Sessions"), site: { ...site, tab: "sessions" }, body });
  });

  routes.get("/sites/:site_id/sessions/:chat_id", async (c) => {
    const { site, home } = await siteOf(c);
    const stored = await readSession(home, site.id, pathId(c, "chat_id", "session"));
    if (stored === undefined) throw notFound("session");
    const title = c.var.view.t("Session {0}", stored.session.id);
    const body = (
      <>
        <p class="lead">{stored.session.agentTitle ?? stored.session.autoTitle}</p>
        <Conversation v={c.var.view} siteId={site.id} stored={stored} />
      </>
    );
    return show(c, { title, site: { ...site, tab: "sessions" }, body });
  });
}

export function SessionTable({ v, siteId, sessions }: { v: View; siteId: number; sessions: SessionRow[] }) {
  const { t } = v;
  return (
    <Table
      label={t("Sessions")}
      head={[t("Title"), "chat_id", t("Customer"), t("Status"), t("Created")]}
      rows={sessions.map((session) => [
        <a class="clip" href={`/console/sites/${siteId}/sessions/${session.id}`}>
          <bdi>{isVisible(session.title) ? session.title : `(${session.id})`}</bdi>
        </a>,
        session.id,
        <span class="pair">
          <bdi>{session.customerName}</bdi>{" "}
          <a href={`/console/sites/${siteId}/sessions?${new URLSearchParams({ sbs: session.customerExternalId })}`}>
            <bdi>{visibleSbs(session.customerExternalId)}</bdi>
          </a>
        </span>,
        <Status v={v} status={session.status} />,
        <Time v={v} at={session.createdAt} />,
      ])}
      empty={t("No sessions here.")}
    />
  );
}

/** Something to click, whatever the caller sent. */
const visibleSbs = (sbs: string) => (isVisible(sbs) ? sbs : JSON.stringify(sbs));

const statusText = (v: View, status: SessionStatus) => (status === "waiting" ? v.t("Waiting") : v.t("Replied"));

function Status({ v, status }: { v: View; status: SessionStatus }) {
  return <Badge kind={status === "waiting" ? "wait" : "good"} label={statusText(v, status)} />;
}

function Conversation({ v, siteId, stored }: { v: View; siteId: number; stored: StoredSession }) {
  const { t } = v;
  const { session, customer, participants, messages } = stored;
  const agent = (id: number | null, name: string | null) =>
    id === null ? (
      "–"
    ) : name === null ? (
      id
    ) : (
      <>
        <bdi>{name}</bdi> ({id})
      </>
    );
  const facts: [string, unknown][] = [
    [t("Status"), <Status v={v} status={session.status} />],
    [t("Customer"), <bdi>{customer.name}</bdi>],
    [
      "sbs",
      <a href={`/console/sites/${siteId}/sessions?${new URLSearchParams({ sbs: customer.externalId })}`}>
        <bdi>{visibleSbs(customer.externalId)}</bdi>
      </a>,
    ],
    ["IP", <code>{customer.ip}</code>],
    [t("Responsible agent"), agent(session.responsibleAgentId, session.responsibleAgentName)],
    [
      t("Participants"),
      participants.length === 0 ? (
        "–"
      ) : (
        <ul>
          {participants.map((each) => (
            <li>{agent(each.agentId, each.agentName)}</li>
          ))}
        </ul>
      ),
    ],
    [t("Visitor remark title"), session.visitorTitle ?? "–"],
    [t("Agent remark title"), session.agentTitle ?? "–"],
    [t("Automatic title"), session.autoTitle || "–"],
    [t("Kind"), session.kind === "ticket" ? t("Ticket") : t("Chat")],
    [t("Created"), <Time v={v} at={session.createdAt} />],
  ];
  return (
    <div class="talk">
      <section aria-label={t("Conversation")}>
        <ol class="messages">
          {messages.map((message) => (
            <li class={message.sender === "visitor" ? "visitor" : message.senderUid === 0 ? "system" : "agent"}>
              <p class="who">
                <strong>
                  {message.sender === "visitor" ? (
                    <bdi>{customer.name}</bdi>
                  ) : message.senderUid === 0 ? (
                    t("System (uid 0)")
                  ) : (
                    agent(message.senderUid, message.senderName)
                  )}
                </strong>{" "}
                <Time v={v} at={message.createdAt} />
              </p>
              <p class="said">{message.content}</p>
            </li>
          ))}
        </ol>
      </section>
      <aside class="card" aria-label={t("Details")}>
        <dl class="facts">
          {facts.map(([term, value]) => (
            <>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </>
          ))}
        </dl>
      </aside>
    </div>
  );
}
