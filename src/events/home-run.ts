import type { Config } from "../config.ts";
import type { Keyring } from "../core/credentials/sealed-secret.ts";
import { type Runtime, unixSeconds, withinTime } from "../core/runtime.ts";
import { inOneBatch } from "../core/store/batch.ts";
import { WEBHOOK_DISABLED } from "../core/store/event-schema.ts";
import { rootOf, withRetries } from "../core/store/run-batch.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";
import { type EndedAttempt, makeAttempt } from "./attempt.ts";
import type { Budget, Share } from "./budget.ts";
import { isAboutReceiver, tookLong } from "./health-of.ts";
import { type DelayedNotice, notifyQueue } from "./notify-queue.ts";
import { tryToOpenKeys } from "./open-keys.ts";
import { type Attempt, type DueRow, LEASE_SECONDS, type LeasedRow, selectDue } from "./store/deliveries.ts";
import type { DisabledWebhook } from "./store/webhook-health.ts";
import {
  earlierOf,
  isOf,
  isUnknown,
  learn,
  namesOf,
  newTarget,
  noticeBeside,
  noticeOf,
  noticesOfLeaving,
  type Target,
} from "./target.ts";
import { type Lease, type Turn, turnOf } from "./turn.ts";

export interface DeliveryTools {
  runtime: Runtime;
  telemetry: Telemetry;
  config: Pick<Config, "homes" | "closedHomes" | "events" | "masterKeys" | "webhookLoopback">;
}

/** For how long an invocation works alone on a backlog. A receiver that answers at once needs no second invocation. */
const ALONE_MS = 1_000;

/**
 * Delivers what is due to some webhooks of one home, with as many attempts at once as there are places. Each turn is one batch of
 * D1: it records the results since the last turn and leases new attempts. So only one call of D1 is in flight, and the results that
 * arrive during the call are recorded together.
 */
export class HomeRun {
  readonly counts = { begun: 0, delivered: 0, failed: 0, skipped: 0 };
  /** The message of the database when it failed. No attempt begins after that. */
  fault: string | undefined;
  readonly #tools: DeliveryTools;
  readonly #db: D1Database;
  readonly #home: string;
  readonly #keyring: () => Promise<Keyring>;
  readonly #budget: Budget;
  readonly #targets: Set<Target>;
  #ended: (EndedAttempt & { target: Target })[] = [];
  #inFlight = 0;
  readonly #notified: Promise<void>[] = [];
  #attemptEnded = () => {};
  readonly #aloneUntil: number;

  constructor(
    tools: DeliveryTools,
    { home, db, webhooks }: { home: string; db: D1Database; webhooks: { site: number; webhook: string }[] },
    keyring: () => Promise<Keyring>,
    budget: Budget,
  ) {
    this.#tools = tools;
    this.#home = home;
    this.#db = db;
    this.#keyring = keyring;
    this.#budget = budget;
    this.#aloneUntil = tools.runtime.elapsed() + ALONE_MS;
    this.#targets = new Set(webhooks.map(({ site, webhook }) => newTarget(home, site, webhook)));
  }

  /** Begins the first attempts. Never rejects. */
  async begin(): Promise<void> {
    // When there is a place for each webhook, the first batch leases at once. Its unused places are free again afterwards.
    if (this.#targets.size > this.#budget.places) await this.#readDue();
    if (this.#targets.size > 0) await this.#turn();
  }

  /**
   * Works until nothing is due or in flight, or the budget is used up. Then waits until the queue was notified. Never rejects.
   */
  async finish(): Promise<void> {
    while (this.#inFlight > 0 || this.#ended.length > 0 || (this.#targets.size > 0 && this.fault === undefined)) {
      await this.#work();
      await this.#turn();
    }
    await Promise.all(this.#notified);
  }

  /** Waits until the next turn has something to do: a result to record, an attempt that may begin, or the end of the budget. */
  async #work(): Promise<void> {
    if (this.#inFlight === 0) return;
    // After a fault, results wait for the next result: asking at once would load a database that already fails.
    if (this.#ended.length > 0 && this.fault === undefined) return;
    const nextEnd = () => new Promise<void>((resolve) => (this.#attemptEnded = resolve));
    const waitingTargets = [...this.#targets].filter(({ inFlight }) => inFlight === 0);
    const mayBegin = waitingTargets.length > 0 && this.fault === undefined;
    if (mayBegin && (this.#budget.isUsedUp || this.#canBegin(waitingTargets))) return;
    const { runtime } = this.#tools;
    const helpIn =
      this.#targetsWithoutPlace().length > 0 ? Math.max(0, this.#aloneUntil - runtime.elapsed()) : Infinity;
    // The time is rounded up, because a timer with a part of a millisecond could end too early.
    const milliseconds = Math.ceil(Math.min(mayBegin ? this.#budget.timeLeft : Infinity, helpIn));
    await (milliseconds === Infinity ? nextEnd() : withinTime(runtime, milliseconds, nextEnd, () => {}));
    this.#askForHelp();
  }

  #canBegin(waitingTargets: Target[]): boolean {
    const shares = this.#budget.share([...this.#targets]);
    return waitingTargets.some((target) => shares.has(target));
  }

  /** The webhooks with more due deliveries than this invocation can begin, for which no other invocation was asked to help. */
  #targetsWithoutPlace(): Target[] {
    return [...this.#targets].filter(({ hasMore, isHelped, inFlight }) => hasMore && !isHelped && inFlight > 0);
  }

  /** Asks other invocations to begin what this one cannot, so that a backlog soon has as many attempts in flight as it may have. */
  #askForHelp(): void {
    if (this.#tools.runtime.elapsed() < this.#aloneUntil) return;
    const targets = this.#targetsWithoutPlace();
    for (const target of targets) target.isHelped = true;
    this.#notify(targets.map((target) => noticeOf(target, 0)));
  }

  /** Reads which webhooks have something due, and removes the others, so that they take no places. */
  async #readDue(): Promise<void> {
    const now = unixSeconds(this.#tools.runtime);
    let rows: DueRow[];
    try {
      const { results } = await withRetries(this.#tools.runtime, () => {
        this.#budget.call();
        return selectDue(this.#db, { asked: namesOf(this.#targets), now }).all<DueRow>();
      });
      rows = results;
    } catch (error) {
      this.fault = rootOf(error).message;
      return;
    }
    const notices = [...this.#targets].flatMap((target) => {
      const row = rows.find(isOf(target));
      learn(target, row);
      return row?.nextDue != null && row.nextDue <= now ? [] : this.#leave(target, row?.nextDue ?? null, false, now);
    });
    this.#notify(notices);
  }

  async #turn(): Promise<void> {
    const { runtime } = this.#tools;
    const ended = this.#ended.splice(0);
    const isStopped = this.fault !== undefined || this.#budget.isUsedUp;
    const shares = isStopped ? new Map<Target, Share>() : this.#budget.share([...this.#targets]);
    const askedTargets = [...this.#targets]
      .map((target) => ({ target, share: shares.get(target) ?? { wanted: 0, whenSuspect: 0 } }))
      // The webhooks that are not asked for wait for a place, or have attempts in flight.
      .filter(({ target, share }) => share.wanted > 0 || isUnknown(target) || (isStopped && target.inFlight === 0));
    if (ended.length === 0 && askedTargets.length === 0) return;
    // A served webhook goes to the end of the line.
    for (const { target, share } of askedTargets) {
      this.#targets.delete(target);
      this.#targets.add(target);
      this.#budget.take(share.wanted);
    }
    const now = unixSeconds(runtime);
    const lease = { now, until: now + LEASE_SECONDS, lease: runtime.bytes(16).toHex() };
    let turn: Turn;
    try {
      turn = await this.#batch(ended, askedTargets, lease);
    } catch (error) {
      this.fault = rootOf(error).message;
      // The next turn records these results, if attempts are in flight. Otherwise they are dropped: the lease ends, and the sweep
      // finds the deliveries.
      if (this.#inFlight > 0) this.#ended.unshift(...ended);
      for (const { share } of askedTargets) this.#budget.giveBack(share.wanted);
      return;
    }
    for (const { target, result } of ended) {
      this.#count(result.status);
      target.unrecorded -= 1;
    }
    const notices: DelayedNotice[] = this.#noticesOfRecipients(turn);
    for (const { target, result } of ended) {
      target.retryAt = earlierOf(target.retryAt, result.nextAttemptAt);
      notices.push(...noticeBeside(target, result.nextAttemptAt, now));
    }
    for (const { target, share } of askedTargets) {
      const rowsOfTarget = turn.leased.filter(isOf(target));
      const nextDue = rowsOfTarget[0]?.nextDue ?? null;
      learn(target, rowsOfTarget[0]);
      const startedAttempts = this.#start(target, rowsOfTarget);
      this.#budget.giveBack(share.wanted - startedAttempts);
      const allowed = target.isSuspect ? share.whenSuspect : share.wanted;
      const isDue = nextDue !== null && nextDue <= now;
      const waits = isDue && allowed === 0 && !isStopped;
      // An attempt that ended during this batch is not recorded yet, so `nextDue` lacks its next attempt. A later turn decides.
      if (target.inFlight === 0 && target.unrecorded === 0 && !waits)
        notices.push(...this.#leave(target, nextDue, isStopped, now));
      else if (target.retries) notices.push(...noticeBeside(target, nextDue, now));
      // When fewer attempts began than were allowed, the webhook is at its limit in flight, or has nothing more due.
      target.hasMore = allowed > 0 && startedAttempts >= allowed && isDue;
    }
    this.#notify(notices);
    this.#askForHelp();
  }

  /** Does not await the queue, because a slow queue would delay the recording of results. */
  #notify(notices: DelayedNotice[]): void {
    if (notices.length === 0) return;
    this.#budget.call();
    this.#notified.push(notifyQueue(this.#tools, notices));
  }

  #batch(ended: EndedAttempt[], askedTargets: { target: Target; share: Share }[], lease: Lease): Promise<Turn> {
    const statements = turnOf(this.#tools.runtime, this.#db, ended, askedTargets, lease);
    return withRetries(this.#tools.runtime, () => {
      this.#budget.call();
      return inOneBatch(this.#db, statements());
    });
  }

  /** @returns notices for the webhooks that get an event about another webhook */
  #noticesOfRecipients({ judged }: Turn): DelayedNotice[] {
    const disabled = new Map<string, DisabledWebhook>();
    const rowsOfEvents = judged.flatMap(({ notices = [] }) => notices);
    for (const row of judged.flatMap(({ disabled = [] }) => disabled)) disabled.set(row.disabled, row);
    // After a lost answer the second try disables no webhook, but it finds the event of the first try.
    for (const row of rowsOfEvents) {
      if (row.type === WEBHOOK_DISABLED) disabled.set(row.about, { ...row, disabled: row.about });
    }
    for (const { disabled: webhook, siteId: site, reason } of disabled.values()) {
      const warning = "a webhook was disabled: operators decide what becomes of it";
      this.#tools.telemetry.warn({ warning, home: this.#home, site, webhook, reason });
    }
    return rowsOfEvents.flatMap(({ siteId, recipient }) =>
      recipient === null ? [] : [{ home: this.#home, site: siteId, webhook: recipient }],
    );
  }

  #start(target: Target, rows: LeasedRow[]): number {
    const attempts = rows.filter((row): row is Attempt => row.seq !== null);
    const [firstAttempt] = attempts;
    const keys =
      firstAttempt === undefined
        ? Promise.resolve(undefined)
        : tryToOpenKeys(this.#tools, this.#home, this.#keyring, firstAttempt);
    for (const attempt of attempts) {
      target.inFlight += 1;
      target.retries ||= attempt.wasTried === 1;
      this.#inFlight += 1;
      void this.#attempt(target, attempt, keys);
    }
    this.counts.begun += attempts.length;
    return attempts.length;
  }

  async #attempt(target: Target, leasedAttempt: Attempt, keys: Promise<CryptoKey[] | undefined>): Promise<void> {
    const { runtime, config } = this.#tools;
    const ended = await makeAttempt(runtime, leasedAttempt, await keys, config.webhookLoopback);
    target.inFlight -= 1;
    target.unrecorded += 1;
    target.retries ||= ended.result.againAt !== null;
    // The webhook's row shows this result only after it is recorded, and places are shared before that.
    if (isAboutReceiver(ended)) {
      target.isSuspect = ended.result.status !== "delivered" || tookLong(ended);
      target.isNew = false;
    }
    this.#inFlight -= 1;
    this.#budget.end();
    this.#ended.push({ ...ended, target });
    this.#attemptEnded();
  }

  /** Removes a webhook that has no attempt in flight and begins none here. @returns see {@link noticesOfLeaving} */
  #leave(target: Target, nextDue: number | null, isStopped: boolean, now: number): DelayedNotice[] {
    this.#targets.delete(target);
    return noticesOfLeaving(target, nextDue, isStopped, now);
  }

  #count(status: EndedAttempt["result"]["status"]): void {
    this.counts[status === "pending" ? "failed" : status] += 1;
  }
}
