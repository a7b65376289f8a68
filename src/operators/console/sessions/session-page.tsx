import { unlessRefusedFor } from "../../../core/errors.ts";
import { isVisible } from "../../../core/fields.ts";
import { pathId } from "../../http/path-id.ts";
import { sessionUnknown } from "../../services/refusals.ts";
import { type Happening, readTimeline, type SessionDelivery } from "../../services/session-timeline.ts";
import { readSession, SESSION_FIELDS, type StoredSession } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import { listWebhookUrls } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Field } from "../parts/form.tsx";
import { Ago, Badge, CopyButton, type FactRows, Facts, LookAgain, NameLink, Part, Time } from "../parts/parts.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import { useView, type View } from "../view.ts";
import { DeliveryBadge } from "../webhooks/deliveries.tsx";
import { resultWords } from "../webhooks/webhook-health.tsx";
import { nameAmong } from "../webhooks/webhook-of.tsx";
import { AgentLink, AgentList, AgentName, Customer, Status } from "./session-table.tsx";

/** A session: its conversation, its facts, and what happened to it. */
export async function sessionPage(c: PageContext, site: Site): Promise<Response> {
  const { view, ctx, t } = c.var;
  const read = async () => readSession(ctx, { site, chatId: pathId(c, "chat_id", sessionUnknown) });
  const stored = await read().catch(unlessRefusedFor("session_unknown"));
  if (stored === undefined) return missingPage(c, site);
  const [timeline, webhooks] = await Promise.all([
    readTimeline(ctx, { site, storedSession: stored }),
    listWebhookUrls(ctx, { site }),
  ]);
  const { session } = stored;
  const title = t("Session {0}", session.id);
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
        <aside class="card" aria-label={t("Details")}>
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
const IN_WORDS =
  /^(chat_id|kind|status|responsible_agent_id|visitor_title|agent_title|auto_title|metadata|created_at)$/;

/** The stored facts of a session besides its conversation. @param heading the title that the page shows at its top */
function factsOf(view: View, siteId: number, stored: StoredSession, heading: string | undefined): FactRows {
  const { t } = view;
  const { session, customer } = stored;
  const path = `/console/sites/${siteId}`;
  const titleFact = (label: string, title: string | null): FactRows[number] =>
    title !== null && title !== heading && isVisible(title) && [label, <bdi>{title}</bdi>];
  const metadata = Object.entries(session.metadata).map(([name, value]) => (
    <li>
      <code>{name}</code> <bdi>{value}</bdi>
    </li>
  ));
  return [
    [
      t("Customer"),
      <Customer siteId={siteId} chatId={session.id} name={customer.name} sbs={customer.externalId} ip={customer.ip} />,
    ],
    [t("Agents"), <Participants siteId={siteId} stored={stored} />],
    [t("App"), <AppOf siteId={siteId} session={session} />],
    metadata.length > 0 && [t("Metadata"), <ul>{metadata}</ul>],
    titleFact(t("Title for agents"), session.agentTitle),
    titleFact(t("Title for the visitor"), session.visitorTitle),
    titleFact(t("Automatic title"), session.autoTitle),
    [t("Kind"), session.kind === "ticket" ? t("Ticket") : t("Chat")],
    ...SESSION_FIELDS.filter(([, name]) => !IN_WORDS.test(name)).map(([column, name]): FactRows[number] => [
      <code>{name}</code>,
      <bdi>{plainText(session[column])}</bdi>,
    ]),
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
  const list = { siteId, agents: others };
  if (responsibleAgentId === null)
    return others.length === 0 ? <>–</> : <AgentList {...list} label={t("{0} agents", count)} />;
  const first = [
    <AgentLink siteId={siteId} agentId={responsibleAgentId} agentName={responsibleAgentName} />,
    " ",
    <Badge kind="good" label={t("Responsible")} />,
  ];
  return <AgentList {...list} label={t("{0} more agents", count)} first={first} />;
}

const AppOf = ({ siteId, session: { appid, appName } }: { siteId: number; session: StoredSession["session"] }) => (
  <NameLink href={`/console/sites/${siteId}/apps/${appid}`} name={appName ?? appid} />
);

type Of<What> = Extract<Happening, { what: What }>;

/** The webhooks are those of the site, the oldest first. */
type Shown = { siteId: number; stored: StoredSession; webhooks: Parameters<typeof nameAmong>[0] };

/** The history of a session: its opening, agents who joined, and the deliveries of its events to webhooks. */
function Timeline({ timeline, ...shown }: Shown & { timeline: Awaited<ReturnType<typeof readTimeline>> }) {
  const { siteId, stored } = shown;
  const { t, exactTime } = useView();
  const deliveries = timeline.happenings.flatMap((each) => (each.what === "event" ? each.deliveries : []));
  const isUnderway = deliveries.some(({ status, attempts }) => status === "pending" && attempts === 0);
  return (
    <Part title={t("What happened")}>
      <ol class="timeline">
        {[...Map.groupBy(timeline.happenings, ({ at }) => at)].map(([at, happenings]) => (
          <li>
            <time datetime={new Date(at * 1000).toISOString()}>{exactTime(at)}</time>
            {happenings.map((each) => (
              <div class={each.what}>
                {each.what === "opened" ? (
                  <p>
                    {t("Opened by the app")} <AppOf siteId={siteId} session={stored.session} />
                  </p>
                ) : each.what === "added" ? (
                  <AddedAgents {...shown} {...each} />
                ) : (
                  <EventDeliveries {...shown} {...each} />
                )}
              </div>
            ))}
          </li>
        ))}
      </ol>
      {isUnderway && <LookAgain>{t("An event is on its way to a webhook.")}</LookAgain>}
      {timeline.isCut && <p class="hint">{t("It may have more events: only its first ones are shown.")}</p>}
    </Part>
  );
}

function AddedAgents({ siteId, stored, agents, addedBy }: Shown & Of<"added">) {
  const { t, number } = useView();
  const { responsibleAgentId: agentId, responsibleAgentName: agentName } = stored.session;
  const author = [{ agentId, agentName }, ...stored.participants].find((agent) => agent.agentId === addedBy);
  const count = number(agents.length);
  return (
    <>
      <p>
        {t("Agents joined: {0}, added by", count)}{" "}
        <AgentLink siteId={siteId} agentId={addedBy} agentName={author?.agentName ?? null} />
      </p>
      <AgentList siteId={siteId} agents={agents} label={t("{0} agents", count)} />
    </>
  );
}

/** An event, with what came of its delivery to each webhook. */
function EventDeliveries({ siteId, webhooks, event, deliveries }: Shown & Of<"event">) {
  const view = useView();
  const { t } = view;
  const outcomeOf = ({ webhookId, seq, status, attempts, ...delivery }: SessionDelivery) => {
    const answer = resultWords(view, delivery)?.words ?? "–";
    return (
      <li>
        <NameLink
          href={`/console/sites/${siteId}/webhooks/${webhookId}?event=${seq}`}
          name={nameAmong(webhooks, { id: webhookId, url: delivery.url })}
        />{" "}
        <DeliveryBadge status={status} />{" "}
        <small>
          {attempts > 0 && t("attempts: {0}", attempts)}
          {status !== "delivered" && attempts > 0 && (
            <bdi class="clip" title={answer}>
              {answer}
            </bdi>
          )}
        </small>
      </li>
    );
  };
  return (
    <>
      <p>
        {t("Event {0}", event.seq)} <code>{event.type}</code>
      </p>
      {deliveries.length === 0 ? (
        <p class="hint">{t("No webhook gets it, or its deliveries are not kept any more.")}</p>
      ) : (
        <ul class="deliveries">{deliveries.map(outcomeOf)}</ul>
      )}
    </>
  );
}
