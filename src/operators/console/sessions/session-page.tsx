import { unlessRefusedFor } from "../../../core/errors.ts";
import { isVisible } from "../../../core/fields.ts";
import { pathId } from "../../http/path-id.ts";
import { sessionUnknown } from "../../services/refusals.ts";
import { readTimeline } from "../../services/session-timeline.ts";
import { readSession, SESSION_FIELDS, type StoredSession } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import { listWebhookUrls } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Field } from "../parts/form.tsx";
import { Ago, Badge, CopyButton, type Fact, type FactRows, Facts, Time } from "../parts/parts.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import { useView, type View } from "../view.ts";
import { AgentLink, AgentList, AgentName } from "./agent-list.tsx";
import { Customer, Status } from "./session-table.tsx";
import { Timeline } from "./timeline.tsx";

/** A session: its conversation, its facts, and what happened to it. */
export async function sessionPage(c: PageContext, site: Site): Promise<Response> {
  const { view, ctx } = c.var;
  const read = async () => readSession(ctx, { site, chatId: pathId(c, "chat_id", sessionUnknown) });
  const stored = await read().catch(unlessRefusedFor("session_unknown"));
  if (stored === undefined) return missingPage(c, site);
  const [timeline, webhooks] = await Promise.all([
    readTimeline(ctx, { site, storedSession: stored }),
    listWebhookUrls(ctx, { site }),
  ]);
  const { session } = stored;
  const title = view.t("Session {0}", session.id);
  // The title that lists show too.
  const ownTitle = session.agentTitle ?? session.autoTitle;
  const heading = isVisible(ownTitle) ? ownTitle : undefined;
  const body = (
    <>
      <p class="lead line-of">
        <span>{title}</span>
        <Status status={session.status} />
        <Ago at={session.createdAt} />
      </p>
      <div class="talk">
        <Conversation stored={stored} />
        <aside class="card" aria-label={view.t("Details")}>
          <Facts rows={factsOf(view, site.id, stored, heading)} />
        </aside>
        <Timeline siteId={site.id} stored={stored} timeline={timeline} webhooks={webhooks} />
      </div>
    </>
  );
  return showPage(c, { title, heading: heading && <bdi>{heading}</bdi>, body, site: { ...site, tab: "sessions" } });
}

/** The page for a session that the site does not have. It keeps the tabs, so that the reader can go on. */
function missingPage(c: PageContext, site: Site): Promise<Response> {
  const { t } = c.var;
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

/** Who said what in a session. */
function Conversation({ stored: { customer, messages } }: { stored: StoredSession }) {
  const { t } = useView();
  return (
    <section aria-label={t("Conversation")}>
      <ol class="messages">
        {messages.map(({ senderUid, senderName, createdAt, content }) => (
          <li class={senderUid === null ? "visitor" : senderUid === 0 ? "system" : "agent"}>
            <p class="who">
              <strong>
                {senderUid === null ? (
                  <bdi>{customer.name}</bdi>
                ) : senderUid === 0 ? (
                  t("System (uid 0)")
                ) : (
                  <AgentName agentId={senderUid} agentName={senderName} />
                )}
              </strong>{" "}
              <Time at={createdAt} />
            </p>
            <p class="said">{content}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The fields that the page shows in words of its own. Any other stands under its name in the API. */
const IN_WORDS: ReadonlySet<string> = new Set([
  "chat_id",
  "kind",
  "status",
  "responsible_agent_id",
  "visitor_title",
  "agent_title",
  "auto_title",
  "metadata",
  "created_at",
]);

/** The stored facts of a session besides its conversation. @param heading the title that the page shows at its top */
function factsOf(view: View, siteId: number, stored: StoredSession, heading: string | undefined): FactRows {
  const { t } = view;
  const { session, customer } = stored;
  const path = `/console/sites/${siteId}`;
  const titles: [label: string, title: string | null][] = [
    [t("Title for agents"), session.agentTitle],
    [t("Title for the visitor"), session.visitorTitle],
    [t("Automatic title"), session.autoTitle],
  ];
  const metadata = Object.entries(session.metadata);
  return [
    [
      t("Customer"),
      <Customer siteId={siteId} chatId={session.id} name={customer.name} sbs={customer.externalId} ip={customer.ip} />,
    ],
    [t("Agents"), <Participants siteId={siteId} stored={stored} />],
    [
      t("App"),
      <a href={`${path}/apps/${session.appid}`}>
        <bdi>{session.appName ?? session.appid}</bdi>
      </a>,
    ],
    metadata.length > 0 && [
      t("Metadata"),
      <ul>
        {metadata.map(([name, value]) => (
          <li>
            <code>{name}</code> <bdi>{value}</bdi>
          </li>
        ))}
      </ul>,
    ],
    ...titles.map(
      ([label, title]) =>
        title !== null && title !== heading && isVisible(title) && ([label, <bdi>{title}</bdi>] as Fact),
    ),
    [t("Kind"), session.kind === "ticket" ? t("Ticket") : t("Chat")],
    ...SESSION_FIELDS.filter(([, name]) => !IN_WORDS.has(name)).map(
      ([column, name]): Fact => [<code>{name}</code>, <bdi>{plainText(session[column])}</bdi>],
    ),
    [t("Opened"), <Time at={session.createdAt} />],
    session.requestId !== null && [
      t("By the call"),
      <small class="copied">
        <a href={`${path}/requests/${session.requestId}`}>
          <code id="request-id">{session.requestId}</code>
        </a>
        <CopyButton id="request-id" label={t("Request id")} />
      </small>,
    ],
  ];
}

const plainText = (value: unknown) =>
  value === null ? "–" : showUnseen(typeof value === "string" ? value : JSON.stringify(value));

/** The agents of a session. The responsible agent comes first, and need not be a participant. */
function Participants({ siteId, stored }: { siteId: number; stored: StoredSession }) {
  const { t, number } = useView();
  const { responsibleAgentId, responsibleAgentName } = stored.session;
  const others = stored.participants.filter(({ agentId }) => agentId !== responsibleAgentId);
  const count = number(others.length);
  if (responsibleAgentId === null)
    return others.length === 0 ? <>–</> : <AgentList siteId={siteId} agents={others} label={t("{0} agents", count)} />;
  const first = (
    <>
      <AgentLink siteId={siteId} agentId={responsibleAgentId} agentName={responsibleAgentName} />{" "}
      <Badge kind="good" label={t("Responsible")} />
    </>
  );
  return <AgentList siteId={siteId} agents={others} label={t("{0} more agents", count)} first={first} />;
}
