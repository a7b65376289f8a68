/** The events that the service posts to a webhook. `data` has the field names of the wire. A newer service may send further fields. */

/** The parts that all events have. */
export interface EventOf<Type extends string, Data> {
  /** `webhook-id`, the same at every attempt. A receiver that has seen it before drops the event. */
  readonly id: string;
  readonly type: Type;
  /** The time of the event, in ISO 8601. */
  readonly timestamp: string;
  /** `seq` counts the events of a site. Sort by it: retried events arrive late. */
  readonly data: Data & { readonly seq: number };
}

/** All stored data of the new session. */
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
    /** `sender_uid` is the agent's id; 0 for the system, null for the customer. */
    messages: { sender: "visitor" | "agent"; sender_uid: number | null; content: string }[];
  }
>;

/** `agent_ids` are the agents who joined by this call, not all agents of the session. */
export type SessionAgentsAdded = EventOf<
  "session.agents_added",
  { appid: string; chat_id: number; agent_ids: number[]; added_by: number }
>;

/** An operator erased a customer with these sessions: delete your data of them. An event that was on its way may still arrive. */
export type SessionErased = EventOf<"session.erased", { chat_ids: number[] }>;

/**
 * Another webhook of the site has failed for five minutes. This event comes once for each outage. `failing_since` is Unix seconds;
 * `last_status` is null when the last attempt had no answer.
 */
export type WebhookFailing = EventOf<
  "webhook.failing",
  { webhook_id: string; reason: string; failing_since: number | null; last_status: number | null }
>;

/** The service disabled another webhook of the site. `reason` is `gone` after a 410, or `failing`. */
export type WebhookDisabled = EventOf<
  "webhook.disabled",
  { webhook_id: string; reason: string; failing_since: number | null; last_status: number | null }
>;

/** An operator tested the webhook. */
export type Ping = EventOf<"ping", { webhook_id: string }>;

/**
 * An event of a type that this version does not know, because a newer service sent it. Answer 204. Its `type` is a plain string.
 * `unknown` exists only for the compiler, so that `===` separates known events from this one.
 */
export type UnknownEvent = EventOf<`${string & { readonly unknown: true }}`, Record<string, unknown>>;

/** Check `type` first: `if (event.type === "session.created") event.data.chat_id`. */
export type WebhookEvent =
  | SessionCreated
  | SessionAgentsAdded
  | SessionErased
  | WebhookFailing
  | WebhookDisabled
  | Ping
  | UnknownEvent;
