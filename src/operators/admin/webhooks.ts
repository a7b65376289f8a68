import { endOverlapSchema, rotationSchema } from "../services/rotation.ts";
import { endWebhookOverlap, rotateWebhookSecret } from "../services/webhook-secrets.ts";
import {
  addWebhook,
  changeWebhook,
  deleteWebhook,
  listWebhooks,
  newWebhookSchema,
  type Webhook,
  webhookChangeSchema,
} from "../services/webhooks.ts";
import { adminCall } from "./call.ts";
import type { AdminContext } from "./env.ts";
import { shownPage } from "./page.ts";
import { rotationOf, shownEndedOverlap, shownRotated } from "./rotation.ts";

/** The webhook's id in the path. The webhook may not exist. */
export const webhookIdOf = (c: AdminContext): string => c.req.param("webhook_id") ?? "";

const shownWebhook = (each: Webhook) => ({
  id: each.id,
  url: each.url,
  events: each.events,
  status: each.status,
  disabled_reason: each.disabledReason,
  disabled_at: each.disabledAt,
  failing_since: each.failingSince,
  last_status: each.lastStatus,
  last_cause: each.lastCause,
  last_failed_at: each.lastFailedAt,
  last_error: each.lastError,
  pending: each.pending,
  failed: each.failed,
  oldest_pending_at: each.oldestPendingAt,
  version: each.version,
  previous_expires_at: each.previousExpiresAt,
  created_at: each.createdAt,
});

const shownNewWebhook = ({ secret, ...webhook }: Webhook & { secret: string }) => ({
  ...shownWebhook(webhook),
  secret,
});

export const webhookCalls = [
  adminCall(
    {
      id: "addWebhook",
      method: "post",
      path: "/sites/:site_id/webhooks",
      role: "operator",
      scope: "site",
      audit: ["webhook.added", "site.events_on"],
      body: newWebhookSchema,
    },
    async (c, { site, body }) => c.json(shownNewWebhook(await addWebhook(c.var.ctx, { site, ...body })), 201),
  ),

  adminCall(
    { id: "listWebhooks", method: "get", path: "/sites/:site_id/webhooks", role: "viewer", scope: "site", audit: [] },
    async (c, { site }) =>
      c.json(shownPage({ items: await listWebhooks(c.var.ctx, { site }), nextCursor: null }, shownWebhook)),
  ),

  adminCall(
    {
      id: "changeWebhook",
      method: "patch",
      path: "/sites/:site_id/webhooks/:webhook_id",
      role: "operator",
      scope: "site",
      audit: ["webhook.changed", "webhook.enabled", "webhook.disabled"],
      body: webhookChangeSchema,
    },
    async (c, { site, body }) => {
      const which = { site, webhookId: webhookIdOf(c) };
      return c.json(shownWebhook(await changeWebhook(c.var.ctx, { ...which, change: body })));
    },
  ),

  adminCall(
    {
      id: "deleteWebhook",
      method: "delete",
      path: "/sites/:site_id/webhooks/:webhook_id",
      role: "operator",
      scope: "site",
      audit: ["webhook.deleted"],
    },
    async (c, { site }) => {
      await deleteWebhook(c.var.ctx, { site, webhookId: webhookIdOf(c) });
      return c.body(null, 204);
    },
  ),

  adminCall(
    {
      id: "rotateWebhookSecret",
      method: "post",
      path: "/sites/:site_id/webhooks/:webhook_id/rotate",
      role: "operator",
      scope: "site",
      audit: ["webhook.rotated"],
      body: rotationSchema,
      bodyOptional: true,
    },
    async (c, { site, body }) => {
      const which = { site, webhookId: webhookIdOf(c) };
      return c.json(shownRotated(await rotateWebhookSecret(c.var.ctx, { ...which, ...rotationOf(body) })));
    },
  ),

  adminCall(
    {
      id: "endWebhookOverlap",
      method: "post",
      path: "/sites/:site_id/webhooks/:webhook_id/end-overlap",
      role: "operator",
      scope: "site",
      audit: ["webhook.overlap_ended"],
      body: endOverlapSchema,
      bodyOptional: true,
    },
    async (c, { site, body: { expected_version: expectedVersion } }) => {
      const which = { site, webhookId: webhookIdOf(c) };
      return c.json(shownEndedOverlap(await endWebhookOverlap(c.var.ctx, { ...which, expectedVersion })));
    },
  ),
];
