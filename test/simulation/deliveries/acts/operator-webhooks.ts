import { OWN_EVENT_TYPES } from "../../../../src/core/store/event-schema.ts";
import { CALLS_EVENT_TYPES } from "../../operations/index.ts";
import type { Operator } from "../../operators/acts/operator.ts";
import { endOverlapAt, rotateAt } from "../../operators/acts/rotations.ts";
import type { KnownSite, KnownWebhook } from "../../world/company.ts";

/** The types of events that webhooks can ask for. */
const EVENTS: readonly string[] = [...CALLS_EVENT_TYPES, ...OWN_EVENT_TYPES];

/** The most calls until all requested events are sent again. */
const MOST_STEPS = 20;

/** Which events an operator asks to send again, by name. */
export const SENT_AGAIN = {
  "what failed or waits": {},
  "what was missed": { after_seq: 0, status: ["missed"] },
  "what was delivered": { after_seq: 0, status: ["delivered"] },
  everything: { after_seq: 0, status: ["missed", "delivered", "failed", "pending"] },
};

type ListedWebhook = Omit<KnownWebhook, "site"> & { disabled_reason: string | null };

export const pathOf = ({ site, id }: KnownWebhook) => `/sites/${site.siteId}/webhooks/${id}`;

/** An operator's work on a site's events. */
export class WebhookKeeper {
  readonly #operator: Operator;

  constructor(operator: Operator) {
    this.#operator = operator;
  }

  /** @returns undefined when the answer was lost */
  async add(site: KnownSite): Promise<KnownWebhook | undefined> {
    const { chance } = this.#operator;
    const url = this.#newUrl(site);
    const options = chance.happens(0.3) && { events: chance.one([...EVENTS.map((type) => [type]), EVENTS]) };
    const answer = await this.#operator.insist("POST", `/sites/${site.siteId}/webhooks`, { url, ...options });
    if (answer?.status !== 201) return undefined;
    return this.#know(site, JSON.parse(answer.body) as ListedWebhook);
  }

  /** The URL of one of the company's receivers, or the URL of another webhook. */
  #newUrl({ siteId }: KnownSite): string {
    const { chance, world } = this.#operator;
    const url = `https://hooks-${siteId}.example.com/in/hook-token-${chance.integer(1, 3)}`;
    world.cloud.internet.makeReceiver(url, chance.fork());
    return url;
  }

  #know(site: KnownSite, { id, url, version }: ListedWebhook): KnownWebhook {
    const webhook = { id, url, version, site };
    site.webhooks.push(webhook);
    return webhook;
  }

  #receiverOf({ url }: { url: string }) {
    return this.#operator.world.cloud.internet.receivers.get(url);
  }

  async change(webhook: KnownWebhook): Promise<void> {
    const { chance } = this.#operator;
    const events = chance.one([undefined, [chance.one(EVENTS)], EVENTS, EVENTS]);
    if (chance.happens(0.5)) return this.move(webhook, events);
    await this.#call(webhook, "PATCH", "", { events: events ?? EVENTS });
  }

  async move(webhook: KnownWebhook, events?: readonly string[]): Promise<void> {
    const url = this.#newUrl(webhook.site);
    const answer = await this.#call(webhook, "PATCH", "", { url, events });
    if (answer?.status === 200) webhook.url = url;
  }

  async setStatus(webhook: KnownWebhook, status: "enabled" | "disabled"): Promise<void> {
    await this.#call(webhook, "PATCH", "", { status });
  }

  async rotate(webhook: KnownWebhook, overlap_seconds: number): Promise<void> {
    const careful = this.#operator.chance.happens(0.5) && { expected_version: webhook.version };
    const answer = await rotateAt(this.#operator, pathOf(webhook), { overlap_seconds, ...careful });
    if (answer?.status !== 200) return this.#learn(webhook);
    webhook.version = (JSON.parse(answer.body) as { version: string }).version;
  }

  /** Ends the previous secret before its time. */
  async endOverlap(webhook: KnownWebhook): Promise<void> {
    await endOverlapAt(this.#operator, pathOf(webhook), webhook.version);
  }

  /** Reads the stored version after a lost answer, because the next rotation must name it. */
  async #learn(webhook: KnownWebhook): Promise<void> {
    const item = (await this.#list(webhook.site))?.find(({ id }) => id === webhook.id);
    if (item !== undefined) webhook.version = item.version;
  }

  async ping(webhook: KnownWebhook): Promise<void> {
    await this.#call(webhook, "POST", "/ping");
  }

  async delete(webhook: KnownWebhook): Promise<void> {
    const answer = await this.#call(webhook, "DELETE", "");
    if (answer?.status === 204) this.#forget(webhook);
  }

  /** Sends events again, step by step until there are no more. */
  async sendAgain(
    webhook: KnownWebhook,
    what = this.#operator.chance.one(Object.keys(SENT_AGAIN) as (keyof typeof SENT_AGAIN)[]),
  ): Promise<void> {
    const { world } = this.#operator;
    world.count(`sent again: ${what}`);
    let place: object = {};
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      const answer = await this.#call(webhook, "POST", "/redeliver", { ...SENT_AGAIN[what], ...place });
      if (answer?.status !== 202) return;
      const { until, next_after_seq } = JSON.parse(answer.body) as { until: number; next_after_seq: number | null };
      if (next_after_seq === null) return;
      world.count("sent again in a further step");
      place = { until, after_seq: next_after_seq };
    }
  }

  /** Pings a receiver while posts to it hang. @param after milliseconds from the first hanging post to the ping */
  async pingHanging(webhook: KnownWebhook, after?: number): Promise<void> {
    const { chance, world } = this.#operator;
    const receiver = this.#receiverOf(webhook);
    receiver?.hang();
    await this.sendAgain(webhook, "everything");
    await world.sleep(after ?? chance.between(100, 5_000));
    await this.ping(webhook);
    await world.sleep(chance.between(100, 30_000));
    receiver?.change(1);
  }

  /** Enables a webhook that the Worker has disabled, when its receiver is well again, and sends events again. */
  async revive(site: KnownSite): Promise<void> {
    for (const { id, disabled_reason } of (await this.#list(site)) ?? []) {
      const webhook = site.webhooks.find((each) => each.id === id);
      if (webhook === undefined || disabled_reason === null) continue;
      this.#operator.world.count(`webhook enabled that was ${disabled_reason}`);
      this.#receiverOf(webhook)?.change(1);
      await this.setStatus(webhook, "enabled");
      await this.sendAgain(webhook);
    }
  }

  async #list({ siteId }: KnownSite): Promise<ListedWebhook[] | undefined> {
    const answer = await this.#operator.insist("GET", `/sites/${siteId}/webhooks`);
    return answer?.status === 200 ? (JSON.parse(answer.body) as { items: ListedWebhook[] }).items : undefined;
  }

  /** Finds webhooks whose creation got no answer. */
  async tidy(site: KnownSite): Promise<void> {
    const { chance } = this.#operator;
    const items = await this.#list(site);
    if (items === undefined) return;
    for (const webhook of [...site.webhooks]) {
      if (!items.some(({ id }) => id === webhook.id)) this.#forget(webhook);
    }
    for (const item of items) {
      if (site.webhooks.some(({ id }) => id === item.id)) continue;
      const webhook = this.#know(site, item);
      if (chance.happens(0.5)) await this.delete(webhook);
      else await this.rotate(webhook, 0);
    }
  }

  /** Corrects the known webhooks after a restore: the home may have older secrets and deleted webhooks again. */
  async reconcile(site: KnownSite): Promise<void> {
    await this.tidy(site);
    for (const webhook of [...site.webhooks]) await this.rotate(webhook, 0);
  }

  #forget(webhook: KnownWebhook): void {
    const { webhooks } = webhook.site;
    if (webhooks.includes(webhook)) webhooks.splice(webhooks.indexOf(webhook), 1);
  }

  #call(webhook: KnownWebhook, method: string, path: string, body?: object) {
    return this.#operator.insist(method, pathOf(webhook) + path, body);
  }
}
