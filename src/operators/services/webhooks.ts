import * as z from "zod/mini";
import { invalidInput } from "../../core/errors.ts";
import { text } from "../../core/fields.ts";
import { SESSION_EVENT_TYPES } from "../../core/operations/index.ts";
import { OWN_EVENT_TYPES, WEBHOOK_STATUSES } from "../../core/store/event-schema.ts";
import { rootOf } from "../../core/store/run-batch.ts";
import { newWebhookSecret } from "../../events/secret.ts";
import { MOST_ENDED, makeDue } from "../../events/store/pending-deliveries.ts";
import { MOST_URL_CHARACTERS, webhookUrlMistake } from "../../events/url.ts";
import type { Site } from "../store/directory/sites.ts";
import {
  selectIsEnabled,
  selectWebhook,
  selectWebhooks,
  selectWebhookUrls,
  type Webhook,
} from "../store/home/read-webhooks.ts";
import {
  deleteWebhookRow,
  insertWebhook,
  MOST_WEBHOOKS,
  updateWebhook,
  type WebhookChange,
  type WebhookState,
} from "../store/home/webhooks.ts";
import { sealNewSecret } from "./master-key.ts";
import { publishAppsOf } from "./publish-apps.ts";
import { siteUnknown, webhookDisabled, webhookEnding, webhookUnknown } from "./refusals.ts";
import { newVersion } from "./secrets.ts";
import { authorOf, homeOf, notifyQueueOf, type ServiceContext, urlFor } from "./service-context.ts";

export { FAILURE_CAUSES, PING, WEBHOOK_STATUSES } from "../../core/store/event-schema.ts";
export { MOST_COUNTED, type Webhook } from "../store/home/read-webhooks.ts";

/** The types of events that a webhook can choose. Every webhook gets a `ping`. */
export const EVENT_TYPES: readonly string[] = [...SESSION_EVENT_TYPES, ...OWN_EVENT_TYPES];

const MOST_TYPES = 100;
const TYPES_RULE = `must be a list of 1 to ${MOST_TYPES} types of events`;
const TYPE_RULE = `must be ${EVENT_TYPES.join(" or ")}`;

const webhookUrl = text(1, MOST_URL_CHARACTERS, "must be an absolute https URL");

const webhookEvents = z
  .array(z.enum(EVENT_TYPES, TYPE_RULE), TYPES_RULE)
  .check(z.minLength(1, TYPES_RULE), z.maxLength(MOST_TYPES, TYPES_RULE));

/** Body of POST /admin/sites/:site_id/webhooks. */
export const newWebhookSchema = z.strictObject({ url: webhookUrl, events: z.optional(webhookEvents) });

type AddWebhook = z.infer<typeof newWebhookSchema> & { site: Site };

/**
 * Adds a webhook, which gets the site's events from now on. The first webhook of a site turns the site's events on.
 *
 * @param input without `events`, the webhook gets all types that exist now
 * @returns the webhook with its secret, which no later answer shows
 * @throws ServiceError `invalid_input` for a URL that events cannot be posted to, or when the site already has as many webhooks as it may
 *   have; `conflict`, reason `changed_meanwhile`, when somebody deleted the new webhook before this call was answered; `internal`, reason
 *   `master_key_wrong`
 */
export async function addWebhook(ctx: ServiceContext, input: AddWebhook): Promise<Webhook & { secret: string }> {
  const { site, url } = input;
  requirePostable(ctx, url);
  const events = [...new Set(input.events ?? EVENT_TYPES)];
  const db = homeOf(ctx, site);
  const id = `wh_${ctx.runtime.bytes(16).toHex()}`;
  const secret = newWebhookSecret(ctx.runtime);
  const key = { siteId: site.id, id };
  const version = newVersion(ctx.runtime);
  const owner = { siteId: site.id, webhookId: id, version };
  const sealed = await sealNewSecret(ctx, owner, secret);
  const row = { ...key, home: site.home, url, events, version, secret: sealed };
  const insertedWebhook = await insertWebhook(ctx.runtime, db, row, webhookDetails(row), authorOf(ctx));
  if (insertedWebhook === undefined) throw siteUnknown();
  if (insertedWebhook.webhook === null) throw refusedUrl(`a site has at most ${MOST_WEBHOOKS} webhooks`);
  // If the site had no events before, it has them now.
  publishAppsOf(ctx, site);
  return { ...insertedWebhook.webhook, secret };
}

/** @throws ServiceError `invalid_input` */
export function requirePostable({ config }: ServiceContext, url: string): void {
  const mistake = webhookUrlMistake(url, { loopback: config.webhookLoopback });
  if (mistake !== undefined) throw refusedUrl(mistake);
}

const refusedUrl = (message: string) => invalidInput([{ field: "url", message }]);

/** The data of a webhook for the audit log. It holds only the origin of the URL: path and query may hold a token. */
const loggedFields = ({ url, events }: Pick<Webhook, "url" | "events">) => ({
  origin: URL.parse(url)?.origin ?? null,
  events,
});

const webhookDetails = (webhook: Pick<Webhook, "url" | "events">): string => JSON.stringify(loggedFields(webhook));

/** The details of a change for the audit log: the webhook as it is now, and `from` and `to` of the changes. */
function changeDetails(before: WebhookState, next: WebhookState): { change: string; statusSwitch: string } {
  const isMoved = before.url !== next.url;
  const isRetyped = JSON.stringify(before.events) !== JSON.stringify(next.events);
  const changedFields = (webhook: WebhookState) => {
    const { origin, events } = loggedFields(webhook);
    return { ...(isMoved && { origin }), ...(isRetyped && { events }) };
  };
  const now = loggedFields(next);
  const isSameHost = isMoved && loggedFields(before).origin === now.origin;
  const changed = {
    ...now,
    ...(isSameHost && { path: "changed" }),
    from: changedFields(before),
    to: changedFields(next),
  };
  return {
    change: JSON.stringify(changed),
    statusSwitch: JSON.stringify({ ...now, from: before.status, to: next.status }),
  };
}

export interface WebhookOf {
  site: Site;
  webhookId: string;
}

/** The webhook, with its URL as {@link urlFor} shows it to the operator. @throws ServiceError `not_found`, reason `webhook_unknown` */
export async function findWebhook(ctx: ServiceContext, { site, webhookId }: WebhookOf): Promise<Webhook> {
  const webhook = await selectWebhook(homeOf(ctx, site), { siteId: site.id, id: webhookId });
  if (webhook === undefined) throw webhookUnknown();
  return { ...webhook, url: urlFor(ctx, webhook.url) };
}

/** @throws ServiceError `not_found`, reason `webhook_unknown` */
export async function isWebhookEnabled(ctx: ServiceContext, { site, webhookId }: WebhookOf): Promise<boolean> {
  const isEnabled = await selectIsEnabled(homeOf(ctx, site), { siteId: site.id, id: webhookId });
  if (isEnabled === undefined) throw webhookUnknown();
  return isEnabled;
}

/** @throws ServiceError `not_found`; `conflict`, reason `webhook_disabled` */
export async function requireEnabled(ctx: ServiceContext, input: WebhookOf): Promise<void> {
  if (!(await isWebhookEnabled(ctx, input))) throw webhookDisabled();
}

/** A webhook that fails for this long is in trouble. */
export const TROUBLE_SECONDS = 300;

/** All webhooks of a site, the oldest first, with their URLs as {@link urlFor} shows them. There are ten at most, so there are no pages. */
export async function listWebhooks(ctx: ServiceContext, { site }: { site: Site }): Promise<Webhook[]> {
  const webhooks = await selectWebhooks(homeOf(ctx, site), site.id);
  return webhooks.map((webhook) => ({ ...webhook, url: urlFor(ctx, webhook.url) }));
}

/** What tells the webhooks of a site apart, the oldest first, with URLs as {@link urlFor} shows them. It costs less than a full list. */
export async function listWebhookUrls(ctx: ServiceContext, { site }: { site: Site }) {
  const rows = await selectWebhookUrls(homeOf(ctx, site), site.id);
  return rows.map(({ id, url }) => ({ id, url: urlFor(ctx, url) }));
}

/** Body of PATCH /admin/sites/:site_id/webhooks/:webhook_id. */
export const webhookChangeSchema = z
  .strictObject({
    url: z.optional(webhookUrl),
    events: z.optional(webhookEvents),
    status: z.optional(z.enum(WEBHOOK_STATUSES, 'must be "enabled" or "disabled"')),
  })
  .check(
    z.refine((change) => Object.values(change).some((value) => value !== undefined), {
      error: "must change url, events or status",
      params: { minProperties: 1 },
    }),
  );

/**
 * Changes a webhook. Its pending deliveries go to the new URL now. When it is disabled, they end as failed. Enabling it does not send them
 * again: `redeliverEvents` does.
 *
 * @throws ServiceError `not_found`; `invalid_input` for a URL that events cannot be posted to; `conflict`, reason `changed_meanwhile`, or
 *   `webhook_ending` when it cannot be enabled because deliveries from before it was disabled are still pending
 */
export async function changeWebhook(
  ctx: ServiceContext,
  { change, site, webhookId: id }: WebhookOf & { change: WebhookChange },
): Promise<Webhook> {
  if (change.url !== undefined) requirePostable(ctx, change.url);
  const events = change.events && [...new Set(change.events)];
  const key = { siteId: site.id, id };
  const wantedChange = { ...change, events };
  const [db, author] = [homeOf(ctx, site), authorOf(ctx)];
  const changed = await updateWebhook(ctx.runtime, db, key, wantedChange, changeDetails, author, ctx.answerBy);
  if (changed === undefined) throw webhookUnknown();
  const { webhook, isMoved } = changed;
  if (change.status === "enabled" && webhook.status === "disabled") throw webhookEnding();
  if (isMoved && webhook.pending > 0) await makePendingDue(ctx, site, webhook);
  return webhook;
}

/** How many further chunks of deliveries are made due before the answer. The rest follows after it. */
const CHUNKS_BEFORE_ANSWER = 3;

/** Makes all pending deliveries to a webhook's new URL due now. The change of the URL itself has made the first chunk due. */
async function makePendingDue(ctx: ServiceContext, site: Site, { id, url, pending }: Webhook): Promise<void> {
  const { runtime, telemetry, now } = ctx;
  const db = homeOf(ctx, site);
  const key = { siteId: site.id, id };
  notifyQueueOf(ctx, site, id);
  let isLeft = pending > MOST_ENDED;
  const makeAllDue = async (chunks: number) => {
    try {
      for (let count = 0; isLeft && count < chunks; count++) isLeft = await makeDue(runtime, db, key, url, now);
    } catch (error) {
      // The URL is changed already. Deliveries that are not made due now keep their time.
      isLeft = false;
      telemetry.warn({ warning: "not all that is pending is due at the new URL now", fault: rootOf(error).message });
    }
  };
  await makeAllDue(CHUNKS_BEFORE_ANSWER);
  if (isLeft) ctx.waitUntil(makeAllDue(Number.POSITIVE_INFINITY));
}

/** Deletes a webhook and its deliveries. @throws ServiceError `not_found` */
export async function deleteWebhook(ctx: ServiceContext, webhookOf: WebhookOf): Promise<void> {
  const { site, webhookId: id } = webhookOf;
  const details = webhookDetails(await findWebhook(ctx, webhookOf));
  await deleteWebhookRow(ctx.runtime, homeOf(ctx, site), { siteId: site.id, id }, details, authorOf(ctx));
}
