import type { StoredSession } from "../../services/sessions.ts";
import { Time } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { AgentName } from "./agent-name.tsx";

/** Who said what in a session. */
export function Conversation({ view, stored }: { view: View; stored: StoredSession }) {
  const { t } = view;
  const { customer, messages } = stored;
  return (
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
                  <AgentName id={message.senderUid} name={message.senderName} />
                )}
              </strong>{" "}
              <Time at={message.createdAt} />
            </p>
            <p class="said">{message.content}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}
