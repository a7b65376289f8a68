import type { Child } from "hono/jsx";
import type { StoredSession } from "../../../services/sessions.ts";
import { Time } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { Status, visibleSbs } from "./session-table.tsx";

type Fact = [term: string, value: Child];

/** The messages of a session, and all other stored facts about it. */
export function Conversation({ view, siteId, stored }: { view: View; siteId: number; stored: StoredSession }) {
  const { t } = view;
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
  const metadata = Object.entries(session.metadata);
  const facts: Fact[] = [
    [t("Status"), <Status view={view} status={session.status} />],
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
    ...(metadata.length === 0 ? [] : [[t("Metadata"), <Pairs pairs={metadata} />] as Fact]),
    [t("Kind"), session.kind === "ticket" ? t("Ticket") : t("Chat")],
    [t("Created"), <Time view={view} at={session.createdAt} />],
    ...(session.requestId === null
      ? []
      : [
          [
            t("Opened by the call"),
            <a href={`/console/sites/${siteId}/requests/${session.requestId}`}>
              <code class="long">{session.requestId}</code>
            </a>,
          ] as Fact,
        ]),
  ];
  const data = `/console/sites/${siteId}/customers`;
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
                <Time view={view} at={message.createdAt} />
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
        {view.may(data, "GET") && (
          <p>
            <a href={`${data}?chat_id=${session.id}`}>{t("Hand over or erase this customer's data")}</a>
          </p>
        )}
      </aside>
    </div>
  );
}

/** The pairs of `metadata`. */
function Pairs({ pairs }: { pairs: [name: string, value: string][] }) {
  return (
    <ul>
      {pairs.map(([name, value]) => (
        <li>
          <code>{name}</code> <bdi>{value}</bdi>
        </li>
      ))}
    </ul>
  );
}
