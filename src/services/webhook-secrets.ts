import * as z from "zod/mini";
import { seal } from "../credentials/sealed-secret.ts";
import { ServiceError } from "../errors.ts";
import { selectSealedWebhook, updateWebhookSecret, type WebhookRow } from "../store/home/webhooks.ts";
import { newWebhookSecret } from "../webhooks/secret.ts";
import { overlapSeconds } from "./app-secrets.ts";
import { webhookUnknown } from "./refusals.ts";
import { newVersion, openSecret } from "./secrets.ts";
import { authorOf, homeOf, keyringOf, type ServiceContext } from "./service-context.ts";
import type { WebhookOf } from "./webhooks.ts";

const TRIES = 3;

/** Body of POST /admin/sites/:site_id/webhooks/:webhook_id/rotate. */
export const rotateWebhookSchema = z.strictObject({ overlap_seconds: overlapSeconds });

/** The new secret, which no later answer shows. */
export interface RotatedWebhook {
  webhookId: string;
  secret: string;
  version: string;
  /** Unix seconds. */
  previousExpiresAt: number;
}

/**
 * Gives a webhook a new secret. Until the overlap ends, events are signed with the previous secret too. Older secrets end at once.
 *
 * @param input `overlapSeconds` is how long the previous secret stays valid
 * @throws ServiceError `not_found`; `conflict`, reason `rotation_busy`, when other calls keep rotating it; `internal` when MASTER_KEY does not
 *   open the current secret
 */
export async function rotateWebhookSecret(
  ctx: ServiceContext,
  { site, webhookId, overlapSeconds }: WebhookOf & { overlapSeconds: number },
): Promise<RotatedWebhook> {
  const db = homeOf(ctx, site);
  const key = { siteId: site.id, id: webhookId };
  let mine: Awaited<ReturnType<typeof nextRotation>> | undefined;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const webhook = await selectSealedWebhook(ctx.runtime, db, key);
    if (webhook === undefined) throw webhookUnknown();
    // The previous try stored this secret, and D1's answer was lost. Another rotation would end the secret that is in use.
    if (mine !== undefined && webhook.version === mine.rotated.version) return mine.rotated;
    mine = await nextRotation(ctx, webhook, overlapSeconds);
    if (await updateWebhookSecret(ctx.runtime, db, key, mine.change, authorOf(ctx), ctx.answerBy)) return mine.rotated;
  }
  throw new ServiceError("conflict", {
    reason: "rotation_busy",
    detail: "The webhook is being rotated by others; try again.",
  });
}

async function nextRotation(ctx: ServiceContext, webhook: WebhookRow, overlapSeconds: number) {
  const { siteId, id: webhookId, version: previousVersion } = webhook;
  const keyring = await keyringOf(ctx);
  const secret = newWebhookSecret(ctx.runtime);
  const version = newVersion(ctx.runtime);
  const previous = { siteId, webhookId, version: previousVersion };
  const current = await openSecret(ctx, previous, "current", webhook.secret);
  const previousExpiresAt = ctx.now + overlapSeconds;
  const change = {
    version,
    secret: await seal(ctx.runtime, keyring, { siteId, webhookId, version }, "current", secret),
    previousVersion,
    // The secret is sealed again because a seal is bound to its slot: in another slot it does not open. Its version stays.
    previousSecret: await seal(ctx.runtime, keyring, previous, "previous", current),
    previousExpiresAt,
  };
  return { change, rotated: { webhookId, secret, version, previousExpiresAt } };
}

/**
 * The secret of a webhook in clear text, for the operator who just added the webhook or rotated its secret.
 *
 * @param input `version` of the wanted secret: a newer secret, made by another operator, is not shown
 * @throws ServiceError `not_found`; `conflict`, reason `version_other`; `internal` when MASTER_KEY does not open it
 */
export async function readWebhookSecret(
  ctx: ServiceContext,
  { site, webhookId, version }: WebhookOf & { version: string },
): Promise<string> {
  const webhook = await selectSealedWebhook(ctx.runtime, homeOf(ctx, site), { siteId: site.id, id: webhookId });
  if (webhook === undefined) throw webhookUnknown();
  if (webhook.version !== version) throw new ServiceError("conflict", { reason: "version_other" });
  return openSecret(ctx, { siteId: site.id, webhookId, version }, "current", webhook.secret);
}
