import type { Chance } from "../../machine/chance.ts";
import { EVENT_TYPES as EVENTS } from "../../operations/index.ts";
import type { KnownSite, KnownWebhook } from "./company.ts";
import type { Operator } from "./operator.ts";
import { endOverlapAt, rotateAt } from "./rotations.ts";

/** Names that no public name server knows. */
const PRIVATE_HOSTS = [
  "localhost",
  "LOCALHOST.",
  "a.localhost",
  "printer.local",
  "db.localdomain",
  "intra.internal",
  "wiki.intranet",

  "db.private",
  "mail.corp",
  "nas.home",
  "tv.lan",
  "router.home.arpa",
  "a.test",
  "a.invalid",
  "a.example",
  "a.onion",
  "intranet",
];

/** IP addresses in all spellings. */
const ADDRESSES = ["127.0.0.1", "0x7f.1", "2130706433", "10.0.0.1", "[::1]", "[fd00::1]", "8.8.8.8", "127.0.0.1."];

/** Each breaks one rule of where events may be posted, or of a webhook's fields. */
const MALFORMED: readonly object[] = [
  ...[...PRIVATE_HOSTS, ...PRIVATE_HOSTS, ...ADDRESSES].map((host) => ({ url: `https://${host}/` })),
  { url: "http://hooks.example.com/" },
  { url: "ftp://hooks.example.com/" },
  { url: "https://user:word@hooks.example.com/" },
  { url: "https://user@hooks.example.com/" },
  { url: "https://hooks.example.com:8443/" },
  { url: "https://hooks.example.com:80/" },
  { url: "https://hooks.example.com/#part" },
  { url: "https://hooks.example.com/#" },
  { url: " https://hooks.example.com/" },
  { url: `https://hooks.example.com/${"a".repeat(2_048)}` },
  { url: "hooks.example.com" },
  { url: "https://hooks.example.com/", events: [] },
  { url: "https://hooks.example.com/", events: ["ping"] },
  { url: "https://hooks.example.com/", events: ["session.never"] },
];

/** The most steps of one sending again. */
const MOST_STEPS = 20;

const DAY_SECONDS = 86_400;

/** What an operator may ask to be sent again, by names. Times are Unix seconds. */
export const SENT_AGAIN: Record<string, (chance: Chance, now: number) => object> = {
  "what failed or waits": () => ({}),
  "an outage": (chance, now) => ({ since: now - chance.integer(1, 900), status: ["failed", "pending"] }),
  "part of an outage": (chance, now) => ({
    since: now - 1_200,
    until: now - chance.integer(0, 600),
    status: ["failed"],
  }),
  "what was missed": (chance, now) => ({ since: now - chance.one([60, 9 * DAY_SECONDS]), status: ["missed"] }),
  everything: (chance) => ({ after_seq: chance.one([0, 0, 5]), status: ["missed", "delivered", "failed", "pending"] }),
  "what was delivered": (chance, now) => ({ since: now - chance.integer(1, 300), status: ["delivered"] }),
  "what was missed, ever": () => ({ status: ["missed", "failed"] }),
  "nothing: it ends before it begins": (_, now) => ({ since: now, until: now - 60 }),
};

/** A webhook in a list of the admin API. */
interface ListedWebhook {
  id: string;
  url: string;
  version: string;
  disabled_reason: string | null;
}

const pathOf = ({ site, id }: KnownWebhook) => `/sites/${site.siteId}/webhooks/${id}`;

/** An operator's work on a site's events, and what the company's receivers learn of it. */
export class WebhookKeeper {
  readonly #operator: Operator;

  constructor(operator: Operator) {
    this.#operator = operator;
  }

  /** @returns undefined when the answer was lost */
  async add(site: KnownSite): Promise<KnownWebhook | undefined> {
    const { chance } = this.#operator;
    const url = this.#newUrl(site);
    const wanted = chance.happens(0.3) && { events: chance.one([...EVENTS.map((type) => [type]), EVENTS]) };
    const answer = await this.#operator.insist("POST", `/sites/${site.siteId}/webhooks`, { url, ...wanted });
    if (answer?.status !== 201) return undefined;
    return this.#know(site, JSON.parse(answer.body) as ListedWebhook & { secret: string });
  }

  async addMalformed(site: KnownSite): Promise<void> {
    for (const body of this.#operator.chance.some(MALFORMED, 0.15)) {
      await this.#operator.call("POST", `/sites/${site.siteId}/webhooks`, body);
    }
  }

  /** A URL of one of the company's several receivers, or one that another webhook has too. */
  #newUrl({ siteId }: KnownSite): string {
    const { chance, world } = this.#operator;
    const url = `https://hooks-${siteId}.example.com/in/hook-token-${chance.integer(1, 3)}`;
    world.cloud.internet.makeReceiver(url, chance.fork());
    return url;
  }

  #know(site: KnownSite, listed: Pick<ListedWebhook, "id" | "url" | "version"> & { secret: string }): KnownWebhook {
    const { id, url, version, secret } = listed;
    const webhook = { id, url, version, site };
    site.webhooks.push(webhook);
    this.#receiverOf(webhook)?.secrets.set(id, secret);
    return webhook;
  }

  #receiverOf({ url }: { url: string }) {
    return this.#operator.world.cloud.internet.receivers.get(url);
  }

  async change(webhook: KnownWebhook): Promise<void> {
    const { chance } = this.#operator;
    const url = chance.happens(0.5) ? this.#newUrl(webhook.site) : undefined;
    const events = chance.one([undefined, [chance.one(EVENTS)], EVENTS, EVENTS]);
    const secret = this.#receiverOf(webhook)?.secrets.get(webhook.id);
    // The new receiver gets the secret before anything is posted to it, and the old one keeps it as long as it gets
    // posts.
    if (url !== undefined && secret !== undefined) this.#receiverOf({ url })?.secrets.set(webhook.id, secret);
    const change = { ...(url !== undefined && { url }), ...(events !== undefined && { events }) };
    const answer = await this.#call(webhook, "PATCH", "", Object.keys(change).length > 0 ? change : { events: EVENTS });
    if (answer?.status === 200 && url !== undefined) webhook.url = url;
  }

  async setStatus(webhook: KnownWebhook, status: "enabled" | "disabled"): Promise<void> {
    await this.#call(webhook, "PATCH", "", { status });
  }

  /** Rotates a secret. The company's receiver gets the new secret before the old one ends. */
  async rotate(webhook: KnownWebhook, overlap_seconds: number): Promise<void> {
    const { chance, world } = this.#operator;
    const careful = chance.happens(0.5) && { expected_version: webhook.version };
    const answer = await rotateAt(this.#operator, pathOf(webhook), { overlap_seconds, ...careful });
    if (answer?.status !== 200) return this.#learn(webhook);
    const { secret, version } = JSON.parse(answer.body) as { secret: string; version: string };
    webhook.version = version;
    const learn = () => void this.#receiverOf(webhook)?.secrets.set(webhook.id, secret);
    // An overlap may be a day, and nobody waits that long.
    const delay = chance.number() * Math.min(overlap_seconds, 120) * 900;
    if (delay === 0) learn();
    else world.scheduler.after(delay, learn);
  }

  /** Ends the previous secret before its time. */
  async endOverlap(webhook: KnownWebhook, version = webhook.version): Promise<void> {
    await endOverlapAt(this.#operator, pathOf(webhook), version);
  }

  /** Reads the stored version after a lost answer, because the next rotation must name it. */
  async #learn(webhook: KnownWebhook): Promise<void> {
    const found = (await this.#list(webhook.site))?.find(({ id }) => id === webhook.id);
    if (found !== undefined) webhook.version = found.version;
  }

  async ping(webhook: KnownWebhook): Promise<void> {
    await this.#call(webhook, "POST", "/ping");
  }

  async delete(webhook: KnownWebhook): Promise<void> {
    const answer = await this.#call(webhook, "DELETE", "");
    if (answer?.status !== 204) return;
    this.#forget(webhook);
  }

  /** Redelivers a failed delivery, or any event of the site. */
  async redeliver(webhook: KnownWebhook): Promise<void> {
    const { chance } = this.#operator;
    const path = chance.happens(0.7) ? "/deliveries?status=failed&limit=5" : "/deliveries?limit=100";
    const answer = await this.#call(webhook, "GET", path);
    if (answer?.status !== 200) return;
    const { items } = JSON.parse(answer.body) as { items: { seq: number }[] };
    const known = items.map(({ seq }) => seq);
    const seqs = known.length > 0 ? chance.some(known, 0.3) : [chance.integer(1, 20)];
    for (const seq of seqs) await this.#call(webhook, "POST", `/deliveries/${seq}/redeliver`);
  }

  /** Sends events again, step by step until there are no more. */
  async sendAgain(webhook: KnownWebhook, what = this.#operator.chance.one(Object.keys(SENT_AGAIN))): Promise<void> {
    const { chance, world } = this.#operator;
    world.count(`sent again: ${what}`);
    const wanted = SENT_AGAIN[what]?.(chance, world.clock);
    if (chance.happens(0.3)) await this.#call(webhook, "POST", "/redeliver", { ...wanted, dry_run: true });
    let place: object = {};
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      const answer = await this.#call(webhook, "POST", "/redeliver", { ...wanted, ...place });
      if (answer?.status !== 202) return;
      const { until, next_after_seq } = JSON.parse(answer.body) as { until: number; next_after_seq: number | null };
      if (next_after_seq === null) return;
      world.count("sent again in a further step");
      place = { until, after_seq: next_after_seq };
    }
  }

  /** Disables a webhook and enables it at once, and again until all that was pending has ended. */
  async restart(webhook: KnownWebhook): Promise<void> {
    const { chance, world } = this.#operator;
    await this.setStatus(webhook, "disabled");
    for (let tries = 0; tries < 4 && !world.closing; tries++) {
      const answer = await this.#call(webhook, "PATCH", "", { status: "enabled" });
      if (answer?.status !== 409) return;
      world.count("webhook enabled while its deliveries end");
      await world.sleep(chance.between(1_000, 60_000));
    }
  }

  /**
   * Asks a receiver that does not answer whether it is well, while posts to it hang.
   *
   * @param after milliseconds for which they hang before, by default some seconds
   */
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

  /**
   * Enables a webhook that the Worker has disabled, when its receiver is well again, and redelivers what has failed.
   */
  async revive(site: KnownSite): Promise<void> {
    for (const { id, disabled_reason } of (await this.#list(site)) ?? []) {
      const webhook = site.webhooks.find((each) => each.id === id);
      if (webhook === undefined || disabled_reason === null) continue;
      this.#operator.world.count(`webhook enabled that was ${disabled_reason}`);
      this.#receiverOf(webhook)?.change(1);
      await this.setStatus(webhook, "enabled");
      await (this.#operator.chance.happens(0.5) ? this.redeliver(webhook) : this.sendAgain(webhook));
    }
  }

  async #list({ siteId }: KnownSite): Promise<ListedWebhook[] | undefined> {
    const answer = await this.#operator.insist("GET", `/sites/${siteId}/webhooks`);
    return answer?.status === 200 ? (JSON.parse(answer.body) as { items: ListedWebhook[] }).items : undefined;
  }

  /** Finds webhooks whose creation was never answered, so nobody has their secrets. */
  async tidy(site: KnownSite): Promise<void> {
    const { chance } = this.#operator;
    const items = await this.#list(site);
    if (items === undefined) return;
    for (const webhook of [...site.webhooks]) {
      if (!items.some(({ id }) => id === webhook.id)) this.#forget(webhook);
    }
    for (const { id, url, version } of items) {
      if (site.webhooks.some((webhook) => webhook.id === id)) continue;
      const found = this.#know(site, { id, url, version, secret: "" });
      if (chance.happens(0.5)) await this.delete(found);
      else await this.rotate(found, 0);
    }
  }

  /** After a restore: the home may have older secrets again, and deleted webhooks. */
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
