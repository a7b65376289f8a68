import type { Site } from "../store/directory/sites.ts";
import * as webhooks from "../store/home/webhooks.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export type { Webhook } from "../store/home/webhooks.ts";

/** All webhooks of a site, the oldest first: they are ten at most. */
export const listWebhooks = (ctx: ServiceContext, { site }: { site: Site }): Promise<webhooks.Webhook[]> =>
  webhooks.selectWebhooks(homeOf(ctx, site), site.id);
