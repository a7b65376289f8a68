/** The events that a service posts to a webhook. `data` has the names of the wire. A receiver may find more fields than stand here. */

interface EventOf<Type extends string, Data> {
  /** `webhook-id`, the same at every attempt: who has seen it before drops the event. */
  readonly id: string;
  readonly type: Type;
  /** When it happened, in ISO 8601. */
  readonly timestamp: string;
  /** `seq` counts the events of a site. Order by it, because a retry arrives late. */
  readonly data: Data & { readonly seq: number };
}

/** Everything stored of the new session. */
export type SessionCreated = EventOf<
  "session.created",
  {
    appid: string;
    chat_id: number;
    kind: string;
    status: string;
    responsible_agent_id: number | null;
    visitor_title: string | null;
    agent_title: string | null;
    auto_title: string;
    metadata: Record<string, string>;
    /** Unix seconds. */
    created_at: number;
    customer: { sbs: string; name: string; ip: string };
    participants: { agent_id: number; added_by: number }[];
    /** `sender_uid` is the agent's id, 0 for text of the system, null for the customer. */
    messages: { sender: "visitor" | "agent"; sender_uid: number | null; content: string }[];
  }
>;

/** `agent_ids` are those who joined by this call, not all who are on the session. */
export type SessionAgentsAdded = EventOf<
  "session.agents_added",
  { appid: string; chat_id: number; agent_ids: number[]; added_by: number }
>;

/** An operator tried the webhook. */
export type Ping = EventOf<"ping", { webhook_id: string }>;

/**
 * Of a type that this version does not know: a newer service sends more types. Acknowledge it. Its `type` is the text on the wire; the
 * mark, which is in the type only, lets `===` tell the known events from it.
 */
export type UnknownEvent = EventOf<`${string & { readonly unknown: true }}`, Record<string, unknown>>;

/** `type` tells them apart: `if (event.type === "session.created") event.data.chat_id`. */
export type WebhookEvent = SessionCreated | SessionAgentsAdded | Ping | UnknownEvent;
