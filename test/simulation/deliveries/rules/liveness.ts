import type { HomeModel } from "../../checker/home-model.ts";
import type { Model } from "../../checker/model.ts";
import type { BrokenRule } from "../../checker/violate.ts";
import { DISABLED } from "../../operators/rules/webhook-writes.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { clockOf, SKEW_SECONDS } from "./attempt.ts";
import { FIRST_IN_LINE, LEASE_SECONDS } from "./leases.ts";
import { keyOf, type OutboxModel } from "./outbox-model.ts";
import { dueNow, messagesOf } from "./turns.ts";

/** No delivery waits for ever: docs/architecture.md, "The way of an event". */

/** Seconds within which a due attempt begins when nothing fails. Its message needs time, and clocks differ. */
const LATE_SECONDS = 120;
/** Seconds within which an attempt begins when the queue was notified of it. */
const NOTIFIED_SECONDS = 40;
/** Seconds within which a ping is posted. It does not wait for other posts, even if they hang. */
const PING_SECONDS = 8;
/**
 * Seconds within which a healthy webhook gets a post when a run was notified of it, whichever receivers hang. A run
 * begins nothing after 8 s. In the next run, all places may be with receivers that hang for 15 s. After that those
 * count as failing.
 */
const WAIT_SECONDS = 30;
/** Seconds that one hanging receiver may add to the wait of each delivery that is due later. */
const HANGING_SECONDS = 15;
/** Clocks are read in whole seconds: once when an attempt ends, and once when its result is recorded. */
const ROUNDED_SECONDS = 2;
/** The longest delay of a queue's message. An attempt that is due later is left to the sweep. */
const LONGEST_MESSAGE_SECONDS = 43_200;

/** The notification of the queue about a delivery's next attempt. */
interface NotifiedDelivery {
  /** Unix seconds by the clock of the isolate that computed it. */
  dueAt: number;
  /** False when the notification may have no effect: it was sent during faults, or its run came too early. */
  isSure: boolean;
  /** How many deliveries of the webhook are due earlier and are attempted first. */
  ahead: number;
}

export class Liveness {
  /** Unix seconds by the platform's clock from which nothing fails any more. */
  #calmSince = Number.POSITIVE_INFINITY;
  /** The last notification about each delivery. */
  readonly #notifications = new Map<string, NotifiedDelivery>();
  /** When each ping became due, by delivery, in Unix seconds by the platform's clock. */
  readonly #pingedAt = new Map<string, number>();
  /** The most seconds by which a run's clock was ahead of the platform's. Its messages arrive too early by as much. */
  #ahead = 0;
  #closedHomes: readonly string[] = [];
  /** The homes that were closed for some run of the consumer. Such a run leaves their deliveries to the sweep. */
  readonly #metClosed = new Set<string>();

  /** When a run was notified of each healthy webhook that has due deliveries and has got no post since. */
  readonly #waits = new Map<string, number>();

  calms(now: number): void {
    // Calls in flight may still suffer from earlier faults.
    this.#calmSince = now + LATE_SECONDS;
  }

  /** Notes the closed homes of a deployment, when it serves its first run of a cron trigger. */
  deployed(closedHomes: readonly string[]): void {
    this.#closedHomes = closedHomes;
  }

  /**
   * Notes that a run of the consumer begins. The run leaves a closed home's deliveries to the sweep. If its clock is
   * behind the sender's, it finds nothing due yet, and does not notify the queue of later attempts.
   *
   * @param now Unix seconds
   */
  arrives(model: Model, call: Call, now: number): void {
    this.#ahead = Math.max(this.#ahead, clockOf(call) - now + ROUNDED_SECONDS);
    for (const message of messagesOf(call)) {
      const { home, site, webhook } = message;
      const key = `${home}/${site}/${webhook}`;
      const isClosed = call.settings.closedHomes.includes(home);
      const isSure = now > this.#calmSince && !isClosed;
      const isWaiting = isSure && dueNow(model.home(home).outbox, message, clockOf(call)).length > 0;
      if (isWaiting && !this.#waits.has(key)) this.#waits.set(key, now);
      if (isClosed) this.#metClosed.add(home);
      const notifications = this.#notificationsOf(key);
      const isNearlyDue = ({ next_attempt_at }: Row) =>
        Number(next_attempt_at) > clockOf(call) && Number(next_attempt_at) <= clockOf(call) + SKEW_SECONDS;
      const isEarly =
        notifications.some(({ dueAt }) => dueAt - this.#ahead <= now && clockOf(call) < dueAt) ||
        model.home(home).outbox.deliveriesOf({ site_id: site, id: webhook }).some(isNearlyDue);
      if (isEarly || isClosed) for (const notification of notifications) notification.isSure = false;
    }
  }

  /** Notes that a webhook has changed: it may fail or be disabled now. */
  webhookChanges(home: string, { site_id, id }: Row): void {
    this.#waits.delete(`${home}/${site_id}/${id}`);
  }

  /** Notes a recorded failure with the time of the next attempt. @param now Unix seconds */
  fails({ name, outbox }: HomeModel, call: Call, delivery: Row, now: number): void {
    const dueAt = Number(delivery.next_attempt_at);
    if (dueAt - clockOf(call) > LONGEST_MESSAGE_SECONDS) return;
    const expected = { dueAt, isSure: now > this.#calmSince, ahead: dueOf(outbox, delivery, dueAt) };
    this.#notifications.set(`${name}/${keyOf("deliveries", delivery)}`, expected);
  }

  /** Notes a change of a delivery. @param now Unix seconds */
  changes(home: string, { before, after }: RowChange, now: number): void {
    // A run that finds nothing due for its message does not notify the queue of later attempts.
    if (before?.status === "pending" && (after === null || after.status === "skipped")) {
      for (const notification of this.#notificationsOf(`${home}/${before.site_id}/${before.webhook_id}`))
        notification.isSure = false;
    }
    if (after?.next_attempt_at !== FIRST_IN_LINE || before?.next_attempt_at === FIRST_IN_LINE) return;
    this.#pingedAt.set(`${home}/${keyOf("deliveries", after)}`, now);
  }

  /** Checks that an attempt does not begin too late. @param now Unix seconds */
  wrongBegin({ name, outbox }: HomeModel, { before, after }: RowChange, now: number): BrokenRule {
    if (before === null || after === null) return undefined;
    const key = `${name}/${keyOf("deliveries", after)}`;
    const webhook = `${name}/${after.site_id}/${after.webhook_id}`;
    const waitSeconds = now - (this.#waits.get(webhook) ?? now);
    this.#waits.delete(webhook);
    if (waitSeconds > WAIT_SECONDS)
      return ["a waiting webhook gets a post within 30 s, whichever receivers hang", `${waitSeconds} s late`];
    const [notification, pingedAt] = [this.#notifications.get(key), this.#pingedAt.get(key)];
    this.#notifications.delete(key);
    this.#pingedAt.delete(key);
    const isCalm = pingedAt !== undefined && pingedAt > this.#calmSince && !this.#metClosed.has(name);
    if (isCalm && now - pingedAt > PING_SECONDS) {
      return ["a ping is posted within seconds, whatever waits", `${now - pingedAt} s late`];
    }
    if (notification?.isSure !== true) return undefined;
    const at = Number(after.next_attempt_at) - LEASE_SECONDS;
    const late = at - Number(before.next_attempt_at);
    return late > NOTIFIED_SECONDS + HANGING_SECONDS * Math.max(notification.ahead, dueOf(outbox, after, at))
      ? ["the next attempt begins when it is due, also without a sweep", `${late} s late`]
      : undefined;
  }

  /** The notifications about a webhook's deliveries. */
  #notificationsOf(webhook: string): NotifiedDelivery[] {
    return [...this.#notifications]
      .filter(([key]) => key.startsWith(`${webhook}/`))
      .map(([, notification]) => notification);
  }

  /**
   * Checks at the end of the run, long after the last fault, that no delivery waits. Some receivers still fail.
   *
   * @param now Unix seconds
   */
  wrongEnd({ name, outbox }: HomeModel, now: number): BrokenRule {
    if (this.#closedHomes.includes(name)) return undefined;
    for (const delivery of outbox.deliveries.values()) {
      const { status, attempts, next_attempt_at } = delivery;
      const description = `${name} ${JSON.stringify(delivery)}`;
      const webhook = outbox.webhookOf(delivery);
      if (webhook === undefined) return ["the sweep removes the deliveries of deleted webhooks", description];
      if (status !== "pending") continue;
      if (webhook.status !== "enabled")
        return ["nothing stays pending for a disabled webhook", `${DISABLED}: ${description}`];
      const patience = LATE_SECONDS + HANGING_SECONDS * dueOf(outbox, delivery, now);
      if (attempts === 0 || Number(next_attempt_at) < now - patience)
        return ["a due delivery is attempted", description];
    }
    return undefined;
  }
}

const dueOf = (outbox: OutboxModel, { site_id, webhook_id }: Row, now: number): number =>
  outbox
    .deliveriesOf({ site_id: site_id ?? 0, id: webhook_id ?? "" })
    .filter(({ status, next_attempt_at }) => status === "pending" && Number(next_attempt_at) <= now).length;
