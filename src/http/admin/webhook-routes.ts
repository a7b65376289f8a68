import {
  deliveryQuerySchema,
  eventQuerySchema,
  listDeliveries,
  listEvents,
  pingWebhook,
  redeliver,
} from "../../services/events.ts";
import { eventUnknown } from "../../services/refusals.ts";
import { rotateWebhookSchema, rotateWebhookSecret } from "../../services/webhook-secrets.ts";
import {
  addWebhook,
  changeWebhook,
  deleteWebhook,
  listWebhooks,
  newWebhookSchema,
  webhookChangeSchema,
} from "../../services/webhooks.ts";
import type { Routes } from "../new-hono.ts";
import { siteOf } from "../operator/context.ts";
import { pathId } from "../path-id.ts";
import type { AdminContext, AdminEnv } from "./env.ts";
import { readInput, readQuery } from "./read-input.ts";
import * as wire from "./webhook-wire.ts";
import { page } from "./wire.ts";

/** The webhook that a path names, which need not exist. @throws ServiceError `not_found` when the site does not */
const webhookOf = async (c: AdminContext) => ({ site: await siteOf(c), webhookId: c.req.param("webhook_id") ?? "" });

/** The admin API's calls about events and webhooks. */
export function addWebhookRoutes(routes: Routes<AdminEnv>): void {
  routes.get("/sites/:site_id/events", async (c) => {
    const site = await siteOf(c);
    const items = await listEvents(c.var.ctx, { site, ...readQuery(c, eventQuerySchema) });
    return c.json({ items: items.map(wire.event) });
  });

  routes.post("/sites/:site_id/webhooks", async (c) => {
    const site = await siteOf(c);
    const input = await readInput(c, newWebhookSchema);
    return c.json(wire.newWebhook(await addWebhook(c.var.ctx, { site, ...input })), 201);
  });

  routes.get("/sites/:site_id/webhooks", async (c) => {
    const site = await siteOf(c);
    return c.json(page({ items: await listWebhooks(c.var.ctx, { site }), nextCursor: null }, wire.webhook));
  });

  routes.patch("/sites/:site_id/webhooks/:webhook_id", async (c) => {
    const which = await webhookOf(c);
    const change = await readInput(c, webhookChangeSchema);
    return c.json(wire.webhook(await changeWebhook(c.var.ctx, { ...which, change })));
  });

  routes.delete("/sites/:site_id/webhooks/:webhook_id", async (c) => {
    await deleteWebhook(c.var.ctx, await webhookOf(c));
    return c.body(null, 204);
  });

  routes.post("/sites/:site_id/webhooks/:webhook_id/rotate", async (c) => {
    const which = await webhookOf(c);
    const { overlap_seconds: overlapSeconds } = await readInput(c, rotateWebhookSchema, {});
    return c.json(wire.rotatedWebhook(await rotateWebhookSecret(c.var.ctx, { ...which, overlapSeconds })));
  });

  routes.post("/sites/:site_id/webhooks/:webhook_id/ping", async (c) => {
    const { eventId } = await pingWebhook(c.var.ctx, await webhookOf(c));
    return c.json({ event_id: eventId }, 202);
  });

  routes.get("/sites/:site_id/webhooks/:webhook_id/deliveries", async (c) => {
    const which = await webhookOf(c);
    const query = readQuery(c, deliveryQuerySchema);
    return c.json(page(await listDeliveries(c.var.ctx, { ...which, ...query }), wire.delivery));
  });

  routes.post("/sites/:site_id/webhooks/:webhook_id/deliveries/:seq/redeliver", async (c) => {
    const which = await webhookOf(c);
    const { eventId, seq } = await redeliver(c.var.ctx, { ...which, seq: pathId(c, "seq", eventUnknown) });
    return c.json({ event_id: eventId, seq }, 202);
  });
}
