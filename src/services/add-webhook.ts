import * as z from "zod/mini";
import { seal } from "../credentials/sealed-secret.ts";
import { invalidInput } from "../errors.ts";
import { text } from "../fields.ts";
import { OPERATIONS } from "../operations/index.ts";
import type { Site } from "../store/directory/sites.ts";
import { insertWebhook, MOST_WEBHOOKS, type Webhook } from "../store/home/webhooks.ts";
import { newWebhookSecret } from "../webhooks/secret.ts";
import { MOST_URL_CHARACTERS, webhookUrlFault } from "../webhooks/url.ts";
import { siteUnknown } from "./refusals.ts";
import { newVersion } from "./secrets.ts";
import { authorOf, homeOf, keyringOf, type ServiceContext } from "./service-context.ts";

/** What webhooks can ask for. A ping comes unasked. */
export const EVENT_TYPES: readonly string[] = OPERATIONS.map(({ eventType }) => eventType);

const MOST_TYPES = 100;
const TYPES_RULE = `must be a list of 1 to ${MOST_TYPES} types of events`;
const TYPE_RULE = `must be ${EVENT_TYPES.join(" or ")}`;

export const webhookUrl = text(1, MOST_URL_CHARACTERS, "must be an absolute https URL");

export const webhookEvents = z
  .array(z.enum(EVENT_TYPES, TYPE_RULE), TYPES_RULE)
  .check(z.minLength(1, TYPES_RULE), z.maxLength(MOST_TYPES, TYPES_RULE));

/** Body of POST /admin/sites/:site_id/webhooks. */
export const newWebhookSchema = z.strictObject({ url: webhookUrl, events: z.optional(webhookEvents) });

export type AddWebhook = z.infer<typeof newWebhookSchema> & { site: Site };

/**
 * Adds a webhook, which gets the events from now on. The first one of a site turns the site's events on.
 *
 * @param input without `events` it gets all types that there are now
 * @returns also the secret, which no later answer shows
 * @throws ServiceError `invalid_input` for a URL that events cannot be posted to, or one webhook too many; `conflict`, reason
 *   `changed_meanwhile`, when it was added and deleted while the call was tried again
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
  const sealed = await seal(ctx.runtime, await keyringOf(ctx), owner, "current", secret);
  const row = { ...key, url, events, version, secret: sealed };
  const added = await insertWebhook(ctx.runtime, db, row, webhookDetails(row), authorOf(ctx));
  if (added === undefined) throw siteUnknown();
  if (added.webhook === null) throw refusedUrl(`a site has at most ${MOST_WEBHOOKS} webhooks`);
  return { ...added.webhook, secret };
}

/** @throws ServiceError `invalid_input` */
export function requirePostable({ config }: ServiceContext, url: string): void {
  const fault = webhookUrlFault(url, { loopback: config.webhookLoopback });
  if (fault !== undefined) throw refusedUrl(fault);
}

const refusedUrl = (message: string) => invalidInput([{ field: "url", message }]);

/** What the audit log says of a webhook. The path and the query of its URL may hold a token. */
export const webhookDetails = ({ url, events }: Pick<Webhook, "url" | "events">): string =>
  JSON.stringify({ origin: URL.parse(url)?.origin ?? null, events });
