import type { HomeModel } from "../../checker/home-model.ts";
import { misses } from "../../checker/row-changes.ts";
import type { BrokenRule } from "../../checker/violate.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import { deliveryRow, nextSeq } from "./expected-event.ts";
import { wantsType } from "./outbox-model.ts";

/** The events that the Worker itself writes about a site's webhooks: docs/operating/webhooks.md, "Webhooks". */

export const DISABLED_EVENT = "webhook.disabled";
export const FAILING_EVENT = "webhook.failing";

const RULE = "a site's other webhooks get one event for each webhook that is disabled by the Worker or fails";

/** Follows the rows of one transaction of the Worker in their order. */
export class WebhookEvents {
  readonly #home: HomeModel;
  /** The webhooks for which the transaction must write an event, by their keys. */
  readonly #due = new Map<string, { type: string; webhook: Row }>();
  /** The events that the transaction wrote, with the webhooks that must still get a delivery. */
  readonly #events: { event: Row; webhooks: Set<string> }[] = [];

  constructor(home: HomeModel) {
    this.#home = home;
  }

  /** Notes that a webhook was disabled, or is known to fail for a while. */
  mustWrite(type: string, webhook: Row): void {
    this.#due.set(`${webhook.site_id}/${webhook.id}`, { type, webhook });
  }

  /** Checks an inserted row of `events` or `deliveries`. @param now the earliest and latest time by the call's clock */
  wrong({ table, before, after }: RowChange, now: { from: number; to: number }): BrokenRule {
    if (before !== null || after === null) return [RULE, "it changed an existing row"];
    return table === "events" ? this.#wrongEvent(after, now) : this.#wrongDelivery(after);
  }

  #wrongEvent(event: Row, now: { from: number; to: number }): BrokenRule {
    const json = JSON.parse(String(event.data)) as { webhook_id?: string };
    const key = `${event.site_id}/${json.webhook_id}`;
    const due = this.#due.get(key);
    if (due === undefined) return [RULE, `nothing has happened to ${key}`];
    this.#due.delete(key);
    const { type, webhook } = due;
    const siteId = Number(webhook.site_id);
    if (!this.#areOn(siteId)) return ["a site whose events are off gets no event about its webhooks", `${siteId} is`];
    const clock = Number(event.created_at);
    const wrong = misses(event, { site_id: siteId, seq: nextSeq(this.#home, siteId), type, session_id: null });
    if (wrong !== undefined) return [RULE, wrong];
    if (clock < now.from || clock > now.to) return [RULE, `its time is ${clock}, now is ${now.to}`];
    const others = this.#home.outbox
      .webhooksOf(siteId)
      .filter((each) => each.id !== webhook.id && wantsType(each, type));
    this.#events.push({ event, webhooks: new Set(others.map(({ id }) => String(id))) });
    return undefined;
  }

  #wrongDelivery(delivery: Row): BrokenRule {
    const entry = this.#events.find(({ event }) => event.site_id === delivery.site_id && event.seq === delivery.seq);
    if (entry === undefined) return [RULE, "the delivery is of another event"];
    const id = String(delivery.webhook_id);
    if (!entry.webhooks.delete(id)) return ["only the site's other webhooks that want the event get it", `${id} is`];
    const wrong = misses(delivery, deliveryRow(entry.event, id, Number(entry.event.created_at)));
    return wrong === undefined ? undefined : [RULE, wrong];
  }

  /** Which event or delivery the transaction should have written and did not. */
  missed(): BrokenRule {
    const missing = [...this.#due.values()].find(({ webhook }) => this.#areOn(Number(webhook.site_id)));
    if (missing !== undefined) return [RULE, `nobody is told of ${missing.webhook.id}: ${missing.type}`];
    const unfinished = this.#events.find((each) => each.webhooks.size > 0);
    return unfinished === undefined
      ? undefined
      : [RULE, `${[...unfinished.webhooks]} is not told by ${unfinished.event.id}`];
  }

  #areOn(siteId: number): boolean {
    return this.#home.sites.get(siteId)?.row.events === 1;
  }
}
