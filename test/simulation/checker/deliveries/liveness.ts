import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { DISABLED } from "../admin/webhook-writes.ts";
import { keyOf, type OutboxModel } from "../events/outbox-model.ts";
import type { HomeModel } from "../home-model.ts";
import type { Model } from "../model.ts";
import { clockOf } from "./attempt.ts";
import { messagesOf } from "./turns.ts";

/** Nothing waits for ever: docs/architecture.md, "Events". */

type Broken = [rule: string, what: string] | undefined;

/** An attempt that is due begins within this, in seconds, when nothing fails: its message is under way, and clocks may be apart. */
const LATE_SECONDS = 120;
/** Without a sweep and new events it would not begin for hours. Those that hang in turn, three at a time, may well take this long. */
const UNTOLD_SECONDS = 1_800;
/** What one hanging receiver may add to the wait of each delivery that is due before. */
const HANGING_SECONDS = 15;

/** Clocks are read in whole seconds, when an attempt has ended and when that is written down. */
const ROUNDED_SECONDS = 2;

/** How far the clocks of two isolates may be apart. */
const SKEW_SECONDS = 20;

/** No message of the queue comes later, so what is due after that is left to the sweep. */
const LONGEST_MESSAGE_SECONDS = 43_200;

/** What the queue knows of the next attempt of a delivery, in Unix seconds. */
interface Told {
  /** By the clock that gave the time. */
  dueAt: number;
  /** It was told when nothing failed any more, and whoever was woken since has told of it again. */
  isSure: boolean;
}

export class Liveness {
  /** In Unix seconds by the platform's clock, once nothing fails any more. */
  #calmSince = Number.POSITIVE_INFINITY;
  /** By delivery. */
  readonly #told = new Map<string, Told>();
  /** By how many seconds the clock of a run was ahead at most: messages that it sends come so early. */
  #ahead = 0;
  #closedHomes: readonly string[] = [];

  calms(now: number): void {
    // What is under way may still meet what went wrong before.
    this.#calmSince = now + LATE_SECONDS;
  }

  /** What a deployment serves shows in what the cron trigger runs. */
  deployed(closedHomes: readonly string[]): void {
    this.#closedHomes = closedHomes;
  }

  /**
   * A run of the consumer begins. Where a home is still closed to it, it leaves to the sweep what it was woken for. One whose clock is behind
   * that of who sent the message finds nothing due yet, and tells the queue of nothing, not even of what is due later.
   *
   * @param now Unix seconds
   */
  arrives(model: Model, call: Call, now: number): void {
    this.#ahead = Math.max(this.#ahead, clockOf(call) - now + ROUNDED_SECONDS);
    for (const { home, site, webhook } of messagesOf(call)) {
      const its = [...this.#told].flatMap(([key, told]) =>
        key.startsWith(`${home}/${site}/${webhook}/`) ? [told] : [],
      );
      const isNearlyDue = ({ next_attempt_at }: Row) =>
        Number(next_attempt_at) > clockOf(call) && Number(next_attempt_at) <= clockOf(call) + SKEW_SECONDS;
      const isEarly =
        its.some(({ dueAt }) => dueAt - this.#ahead <= now && clockOf(call) < dueAt) ||
        model.home(home).outbox.deliveriesOf({ site_id: site, id: webhook }).some(isNearlyDue);
      if (isEarly || call.settings.closedHomes.includes(home)) for (const told of its) told.isSure = false;
    }
  }

  /** A failed attempt was written down, to be tried again. @param now Unix seconds */
  fails(home: string, call: Call, delivery: Row, now: number): void {
    const dueAt = Number(delivery.next_attempt_at);
    if (dueAt - clockOf(call) > LONGEST_MESSAGE_SECONDS) return;
    this.#told.set(`${home}/${keyOf("deliveries", delivery)}`, { dueAt, isSure: now > this.#calmSince });
  }

  /** An attempt begins. */
  wrongBegin({ name, outbox }: HomeModel, { before, after }: Change): Broken {
    if (before === null || after === null) return undefined;
    const key = `${name}/${keyOf("deliveries", after)}`;
    const told = this.#told.get(key);
    this.#told.delete(key);
    if (told?.isSure !== true) return undefined;
    const at = Number(after.next_attempt_at) - 60;
    const late = at - Number(before.next_attempt_at);
    return late > UNTOLD_SECONDS + HANGING_SECONDS * dueOf(outbox, after, at)
      ? ["the next attempt begins when it is due, also without a sweep", `${late} s late`]
      : undefined;
  }

  /** The end of a run, long after anything has failed but some receivers. @param now Unix seconds */
  wrongEnd({ name, outbox }: HomeModel, now: number): Broken {
    if (this.#closedHomes.includes(name)) return undefined;
    for (const delivery of outbox.deliveries.values()) {
      const { status, last_error, last_status, attempts, next_attempt_at } = delivery;
      const said = `${name} ${JSON.stringify(delivery)}`;
      const webhook = outbox.webhookOf(delivery);
      if (webhook === undefined) return ["the sweep removes what is left of deleted webhooks", said];
      // An erasure blanks what receivers have answered, too.
      const isErased = outbox.eventOf(delivery)?.data === null;
      if (status === "failed" && !last_error && !isErased) return ["what has failed says why", said];
      if (status === "delivered" && last_status === null) return ["what is delivered was answered", said];
      if (status !== "pending") continue;
      if (webhook.status !== "enabled") return ["nothing stays pending for a disabled webhook", `${DISABLED}: ${said}`];
      const patience = LATE_SECONDS + HANGING_SECONDS * dueOf(outbox, delivery, now);
      if (Number(next_attempt_at) < now - patience) return ["what is due is attempted", said];
      if (attempts === 0) return ["what is due is attempted", said];
    }
    return undefined;
  }
}

const dueOf = (outbox: OutboxModel, { site_id, webhook_id }: Row, now: number): number =>
  outbox
    .deliveriesOf({ site_id: site_id ?? 0, id: webhook_id ?? "" })
    .filter(({ status, next_attempt_at }) => status === "pending" && Number(next_attempt_at) <= now).length;
