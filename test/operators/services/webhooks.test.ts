import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { pingWebhook, redeliver } from "../../../src/operators/services/events.ts";
import { findSite, siteHasEvents } from "../../../src/operators/services/sites.ts";
import { readWebhookSecret, rotateWebhookSecret } from "../../../src/operators/services/webhook-secrets.ts";
import { addWebhook, changeWebhook, deleteWebhook, findWebhook } from "../../../src/operators/services/webhooks.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { eventStore, keepingQueue } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

const URL = "https://hooks.example.com/in";

async function start() {
  const { sent, EVENTS } = keepingQueue();
  const ctx = contextAt(NOW, { EVENTS });
  const world = await World.create({ EVENTS });
  const site = await findSite(ctx, world);
  return { ctx, world, site, sent };
}

/** A context whose database runs every batch but loses the answer of the first. */
function forgetful() {
  let tries = 0;
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await env.DB.batch(statements);
    if (tries++ === 0) throw new Error("D1_ERROR: Network connection lost.");
    return results;
  };
  return contextAt(NOW, { DB: replacing(env.DB, { batch }) });
}

describe("a service whose database loses an answer", () => {
  it("a webhook is added once when the database loses the answer, and its stored secret is returned", async () => {
    const { ctx, world, site } = await start();
    const { id, secret, version } = await addWebhook(forgetful(), { site, url: URL });
    const { webhooks, audit, site: siteRow } = await eventStore(world);
    expect(webhooks.map((row) => row.id)).toEqual([id]);
    expect(audit.map(({ action }) => action)).toEqual(["webhook.added", "site.events_on"]);
    expect(siteRow).toMatchObject({ events: 1, revision: 0 });
    expect(await readWebhookSecret(ctx, { site, webhookId: id, version })).toBe(secret);
  });

  it("the tenth webhook is added when the database loses the answer, and is not refused as an eleventh", async () => {
    const { ctx, world, site } = await start();
    for (let count = 1; count < 10; count++) await addWebhook(ctx, { site, url: URL });
    await addWebhook(forgetful(), { site, url: URL });
    expect((await eventStore(world)).webhooks).toHaveLength(10);
  });

  it("a change and a deletion of a webhook leave each audit row once when the database loses the answer", async () => {
    const { ctx, world, site } = await start();
    const { id: webhookId } = await addWebhook(ctx, { site, url: URL });
    const change = { events: ["session.created"], status: "disabled" as const };
    expect(await changeWebhook(forgetful(), { site, webhookId, change })).toMatchObject(change);
    await deleteWebhook(forgetful(), { site, webhookId });
    const { webhooks, audit } = await eventStore(world);
    expect(webhooks).toEqual([]);
    expect(audit.slice(2).map(({ action }) => action)).toEqual([
      "webhook.changed",
      "webhook.disabled",
      "webhook.deleted",
    ]);
  });

  it("a ping is sent once when the database loses the answer, and the operator reads that the result is unknown", async () => {
    const { ctx, world, site } = await start();
    const { id: webhookId } = await addWebhook(ctx, { site, url: URL });
    await expect(pingWebhook(forgetful(), { site, webhookId })).rejects.toThrow("Network connection lost");
    const { events, deliveries } = await eventStore(world);
    expect([events.length, deliveries.length]).toEqual([1, 1]);
  });
});

describe("the secret of a webhook", () => {
  it("a webhook's secret is read by its version, so that a caller never gets a newer secret", async () => {
    const { ctx, site } = await start();
    const webhook = await addWebhook(ctx, { site, url: URL });
    const target = { site, webhookId: webhook.id };
    expect(await readWebhookSecret(ctx, { ...target, version: webhook.version })).toBe(webhook.secret);
    const rotation = await rotateWebhookSecret(ctx, { ...target, overlapSeconds: 60 });
    expect(rotation).toEqual({
      secret: expect.stringMatching(/^whsec_/),
      version: (await findWebhook(ctx, target)).version,
      previousExpiresAt: NOW + 60,
    });
    expect(await readWebhookSecret(ctx, { ...target, version: rotation.version })).toBe(rotation.secret);
    const older = readWebhookSecret(ctx, { ...target, version: webhook.version });
    await expect(older).rejects.toMatchObject({ code: "conflict", context: { reason: "version_other" } });
  });

  it("a lookup of a webhook does not return its secret", async () => {
    const { ctx, site } = await start();
    const { id } = await addWebhook(ctx, { site, url: URL });
    expect(Object.keys(await findWebhook(ctx, { site, webhookId: id }))).not.toContain("secret");
  });
});

it("siteHasEvents says whether a site has events, and is 404 for an unknown site", async () => {
  const { ctx, site } = await start();
  expect(await siteHasEvents(ctx, { site })).toBe(false);
  await addWebhook(ctx, { site, url: URL });
  expect(await siteHasEvents(ctx, { site })).toBe(true);
  const attempt = siteHasEvents(ctx, { site: { ...site, id: 999_999 } });
  await expect(attempt).rejects.toMatchObject({ code: "not_found", context: { reason: "site_unknown" } });
});

it("sending an event again is refused when the webhook was disabled during the call", async () => {
  const { ctx, world, site, sent } = await start();
  const { id: webhookId } = await addWebhook(ctx, { site, url: URL });
  const { seq } = await pingWebhook(ctx, { site, webhookId });
  const batch = async (statements: D1PreparedStatement[]) => {
    await changeWebhook(ctx, { site, webhookId, change: { status: "disabled" } });
    return env.DB.batch(statements);
  };
  sent.length = 0;
  const late = { ...ctx, config: { ...ctx.config, homes: new Map([["main", replacing(env.DB, { batch })]]) } };
  await expect(redeliver(late, { site, webhookId, seq })).rejects.toThrow("webhook_disabled");
  expect(sent).toEqual([]);
  expect((await eventStore(world)).deliveries).toMatchObject([{ status: "failed" }]);
});
