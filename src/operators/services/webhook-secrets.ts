import { ServiceError } from "../../core/errors.ts";
import { newWebhookSecret } from "../../events/secret.ts";
import {
  clearPreviousOfWebhook,
  selectSealedWebhook,
  updateWebhookSecret,
  type WebhookRow,
} from "../store/home/webhooks.ts";
import { webhookUnknown } from "./refusals.ts";
import {
  nextSecret,
  otherVersion,
  type RotationInput,
  requireSense,
  requireVersion,
  rotatedMeanwhile,
  rotationBusy,
  type SecretChange,
} from "./rotation.ts";
import { openSecret } from "./secrets.ts";
import { authorOf, homeOf, type ServiceContext } from "./service-context.ts";
import type { WebhookOf } from "./webhooks.ts";

const TRIES = 3;

/** The new secret, which no later answer shows. */
export interface RotatedWebhook {
  webhookId: string;
  secret: string;
  version: string;
  /** Unix seconds; null when no old secret is valid. */
  previousExpiresAt: number | null;
}

/**
 * Gives a webhook a new secret. Until the overlap ends, events are signed with the one in use too. While an overlap runs, `ends` says
 * which of the two secrets ends.
 *
 * @throws ServiceError `invalid_input`; `not_found`; `conflict`, reason `version_other` (rotated by another call, or by an earlier copy
 *   of this one), `overlap_running`, `overlap_over` or `rotation_busy` (other calls keep rotating it); `internal` when MASTER_KEY does
 *   not open the current secret
 */
export async function rotateWebhookSecret(
  ctx: ServiceContext,
  { site, webhookId, ...input }: WebhookOf & RotationInput,
): Promise<RotatedWebhook> {
  requireSense(input);
  const db = homeOf(ctx, site);
  const key = { siteId: site.id, id: webhookId };
  let mine: { change: SecretChange; secret: string } | undefined;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const webhook = await selectSealedWebhook(ctx.runtime, db, key);
    if (webhook === undefined) throw webhookUnknown();
    // The previous try stored this secret, and D1's answer was lost. Another rotation would end the secret that is in use.
    if (mine !== undefined && webhook.version === mine.change.version) return answer(webhook, mine.secret);
    const secret = newWebhookSecret(ctx.runtime);
    const change = await nextSecret(ctx, { siteId: site.id, webhookId }, webhook, input, secret);
    mine = { change, secret };
    const isStored = await updateWebhookSecret(
      ctx.runtime,
      db,
      webhook,
      change,
      input.ends,
      authorOf(ctx),
      ctx.answerBy,
    );
    if (isStored) return answer({ ...webhook, ...change }, secret);
  }
  throw input.expectedVersion === undefined ? rotationBusy() : otherVersion();
}

const answer = ({ id: webhookId, version, previousExpiresAt }: WebhookRow, secret: string): RotatedWebhook => ({
  webhookId,
  secret,
  version,
  previousExpiresAt,
});

/**
 * Ends the previous secret of a webhook, without making another. Does nothing when there is none.
 *
 * @param input with `expectedVersion`, only while this is the version
 * @returns the version of the secret in use
 * @throws ServiceError `not_found`; `conflict`, reason `version_other`, also when the webhook is rotated meanwhile
 */
export async function endWebhookOverlap(
  ctx: ServiceContext,
  { site, webhookId, ...input }: WebhookOf & { expectedVersion?: string | undefined },
): Promise<{ version: string }> {
  const db = homeOf(ctx, site);
  const webhook = await selectSealedWebhook(ctx.runtime, db, { siteId: site.id, id: webhookId });
  if (webhook === undefined) throw webhookUnknown();
  requireVersion(webhook, input);
  const { version } = webhook;
  if (webhook.previousVersion === null) return { version };
  const now = await clearPreviousOfWebhook(ctx.runtime, db, webhook, authorOf(ctx), ctx.answerBy);
  if (now === undefined) throw webhookUnknown();
  // The overlap of a newer rotation stays: the operator who made it counts on it.
  if (now.version !== version) throw rotatedMeanwhile();
  return { version };
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
