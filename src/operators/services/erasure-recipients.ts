import { SESSION_ERASED } from "../../core/store/event-schema.ts";
import type { Site } from "../store/directory/sites.ts";
import { type Erasure, isOpen } from "../store/home/erasures.ts";
import { selectWebhooks } from "../store/home/read-webhooks.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";
import { siteHasEvents } from "./sites.ts";

/** What a webhook has received of a customer's data, or may still receive. */
export interface Recipient {
  id: string;
  /** Null when the webhook is deleted. */
  url: string | null;
  /** How many events were delivered to it, as far as deliveries are stored. */
  delivered: number;
  /** How many other events were posted to it at least once, or are being posted: its receiver may have them. */
  attempted: number;
  /** Whether it was sent the events about all deleted sessions. Before the first deletion: whether it would get them. */
  told: boolean;
}

/** Every webhook of the site, and those deleted since the erasure began that have received something. */
export async function recipientsOf(ctx: ServiceContext, site: Site, erasure: Erasure): Promise<Recipient[]> {
  const { webhooks, sessions } = erasure;
  const [present, hasEvents] = await Promise.all([
    selectWebhooks(homeOf(ctx, site), site.id),
    siteHasEvents(ctx, { site }),
  ]);
  const ids = new Set([...present.map(({ id }) => id), ...Object.keys(webhooks)]);
  const recipients = [...ids].map((id) => {
    const webhook = present.find((each) => each.id === id);
    const { delivered = 0, attempted = 0, told = 0 } = webhooks[id] ?? {};
    const takesErasedEvents = hasEvents && webhook?.status === "enabled" && webhook.events.includes(SESSION_ERASED);
    const isTold = sessions === 0 ? isOpen(erasure) && takesErasedEvents : told === sessions;
    return { id, url: webhook?.url ?? null, delivered, attempted, told: webhook !== undefined && isTold };
  });
  return recipients.filter(({ url, delivered, attempted }) => url !== null || delivered + attempted > 0);
}
