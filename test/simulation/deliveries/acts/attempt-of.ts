import type { Operator } from "../../operators/acts/operator.ts";
import type { KnownWebhook } from "../../world/company.ts";
import type { World } from "../../world/world.ts";
import type { Outcome } from "./moods.ts";
import { pathOf, WebhookKeeper } from "./operator-webhooks.ts";
import type { Post } from "./post.ts";

/** How long to wait for the attempt, in milliseconds. */
const PATIENCE_MS = 4_000;
/** The number of newest events of which one is sent again. */
const NEWEST = 5;

/**
 * Causes an attempt, to which the receiver gives the planned outcome.
 *
 * @param begin what makes an attempt due, by default sending one event again
 * @returns the attempt's post, when it was sent
 */
export async function attemptOf(
  operator: Operator,
  webhook: KnownWebhook,
  outcome: Outcome,
  begin: (operator: Operator, webhook: KnownWebhook) => Promise<unknown> = sendOneAgain,
): Promise<{ seq: number; post: Post } | undefined> {
  const { world } = operator;
  const { site, id, url } = webhook;
  const receiver = world.cloud.internet.receivers.get(url);
  const { outbox } = world.checker.model.home(site.home);
  if (outbox.webhooks.get(`${site.siteId}/${id}`)?.status === "disabled") {
    await new WebhookKeeper(operator).setStatus(webhook, "enabled");
  }
  const begins = world.moments.when((each) => {
    const post = each.kind === "posts" && each.post.url === receiver?.url ? each.post : undefined;
    const seq = post && seqOf(world, webhook, post);
    if (seq === undefined) return undefined;
    receiver?.plans.set(post as Post, outcome);
    return { seq, post: post as Post };
  }, PATIENCE_MS);
  await begin(operator, webhook);
  return begins;
}

/** The seq of the event of a post, when the post is an attempt of this webhook. */
function seqOf({ checker }: World, { id, site }: KnownWebhook, { headers }: Post): number | undefined {
  const { outbox } = checker.model.home(site.home);
  const deliveries = outbox.deliveriesOf({ site_id: site.siteId, id }).filter(({ claim }) => claim !== null);
  const delivery = deliveries.find((row) => outbox.eventOf(row)?.id === headers["webhook-id"]);
  return delivery && Number(delivery.seq);
}

/** Sends one of the site's newest events about sessions again. */
export async function sendOneAgain(operator: Operator, webhook: KnownWebhook): Promise<void> {
  const { world, chance } = operator;
  const { siteId, home } = webhook.site;
  const events = [...world.checker.model.home(home).outbox.events.values()];
  const siteEvents = events.filter((each) => each.site_id === siteId && each.session_id !== null && each.data !== null);
  const seq = siteEvents.length > 0 ? chance.one(siteEvents.slice(-NEWEST)).seq : 1;
  await operator.call("POST", `${pathOf(webhook)}/deliveries/${seq}/redeliver`);
}
