import type { Delivery, SiteEvent } from "../../services/events.ts";
import type { RotatedWebhook } from "../../services/webhook-secrets.ts";
import type { Webhook } from "../../services/webhooks.ts";

/** The answers about events and webhooks in the wire's words: snake_case, times in Unix seconds, and no sealed secret. */

export const webhook = (each: Webhook) => ({
  id: each.id,
  url: each.url,
  events: each.events,
  status: each.status,
  disabled_reason: each.disabledReason,
  failing_since: each.failingSince,
  previous_expires_at: each.previousExpiresAt,
  created_at: each.createdAt,
});

export const newWebhook = ({ secret, ...each }: Webhook & { secret: string }) => ({ ...webhook(each), secret });

export const rotatedWebhook = ({ secret, previousExpiresAt }: RotatedWebhook) => ({
  secret,
  previous_expires_at: previousExpiresAt,
});

export const delivery = (each: Delivery) => ({
  event_id: each.eventId,
  seq: each.seq,
  type: each.type,
  chat_id: each.chatId,
  status: each.status,
  attempts: each.attempts,
  last_status: each.lastStatus,
  last_error: each.lastError,
  next_attempt_at: each.nextAttemptAt,
});

export const event = ({ id, seq, type, createdAt, data }: SiteEvent) => ({
  id,
  seq,
  type,
  created_at: createdAt,
  data,
});
