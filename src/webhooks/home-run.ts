import type { Config } from "../config.ts";
import type { Keyring } from "../credentials/sealed-secret.ts";
import { type Runtime, unixSeconds, withinTime } from "../runtime.ts";
import {
  type Attempt,
  LEASE_SECONDS,
  type LeasedRow,
  leaseDue,
  recordResults,
  selectLeased,
} from "../store/home/deliveries.ts";
import { judge } from "../store/home/webhook-health.ts";
import { rootOf, withRetries } from "../store/run-batch.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { attempt, type Ended } from "./attempt.ts";
import type { Budget } from "./budget.ts";
import { healthOf } from "./health-of.ts";
import { type DelayedNotice, notifyQueue } from "./notify-queue.ts";
import { tryToOpenKeys } from "./open-keys.ts";

/** The tools of a delivery. */
export interface DeliveryTools {
  runtime: Runtime;
  telemetry: Telemetry;
  config: Pick<Config, "homes" | "closedHomes" | "events" | "masterKeys" | "webhookLoopback">;
}

/** The longest delay of a message that the queue accepts. */
const LONGEST_DELAY_SECONDS = 43_200;

/** A webhook that is being delivered to. */
interface Target {
  siteId: number;
  id: string;
  inFlight: number;
  /** Whether the queue may need a notice of the next attempt: true after an attempt that failed or was not the first. */
  retries: boolean;
}

/**
 * Delivers what is due to some webhooks of one home, with as many attempts at once as there are places. Each turn is one batch of
 * D1: it records the results since the last turn and leases new attempts. So only one call of D1 is in flight, and the results that
 * come meanwhile are recorded together.
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
  #ended: Ended[] = [];
  #inFlight = 0;
  readonly #notified: Promise<void>[] = [];
  #attemptEnded = () => {};

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
    this.#targets = new Set(
      webhooks.map(({ site, webhook }) => ({ siteId: site, id: webhook, inFlight: 0, retries: false })),
    );
  }

  /** Begins the first attempts. Never rejects. */
  begin(): Promise<void> {
    return this.#turn();
  }

  /**
   * Goes on until nothing is due or in flight, or the budget is used up. Then waits until the queue was notified. Never rejects.
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
    const isAnyWaiting = [...this.#targets].some(({ inFlight }) => inFlight === 0);
    if (!isAnyWaiting || this.fault !== undefined) await nextEnd();
    else if (!this.#budget.hasPlace && !this.#budget.isUsedUp)
      await withinTime(this.#tools.runtime, this.#budget.timeLeft, nextEnd, () => {});
  }

  async #turn(): Promise<void> {
    const { runtime } = this.#tools;
    const ended = this.#ended.splice(0);
    const isStopped = this.fault !== undefined || this.#budget.isUsedUp;
    const asked = [...this.#targets]
      .map((target) => ({ target, wanted: isStopped ? 0 : this.#budget.take(target.inFlight) }))
      // The other webhooks wait for a place, or have attempts in flight.
      .filter(({ target, wanted }) => wanted > 0 || (isStopped && target.inFlight === 0));
    // A served webhook goes to the end of the line.
    for (const { target } of asked) {
      this.#targets.delete(target);
      this.#targets.add(target);
    }
    const now = unixSeconds(runtime);
    const lease = { now, until: now + LEASE_SECONDS, lease: runtime.bytes(16).toHex() };
    let rows: LeasedRow[];
    try {
      rows = await this.#batch(ended, asked, lease);
    } catch (error) {
      this.fault = rootOf(error).message;
      // The next turn records these results, if attempts are in flight. Otherwise they are dropped: the lease ends, and the sweep
      // finds the deliveries.
      if (this.#inFlight > 0) this.#ended.unshift(...ended);
      for (const { wanted } of asked) this.#budget.giveBack(wanted);
      return;
    }
    for (const { result } of ended) this.#count(result.status);
    const notices: DelayedNotice[] = [];
    for (const { target, wanted } of asked) {
      const own = rows.filter((row) => row.siteId === target.siteId && row.webhookId === target.id);
      this.#budget.giveBack(wanted - this.#start(target, own));
      if (target.inFlight === 0) notices.push(...this.#leave(target, own[0]?.nextDue ?? null, isStopped, now));
    }
    if (notices.length === 0) return;
    this.#budget.call();
    // The queue is not awaited here: a slow queue would delay the recording of results.
    this.#notified.push(notifyQueue(this.#tools, notices));
  }

  async #batch(
    ended: Ended[],
    asked: { target: Target; wanted: number }[],
    lease: { now: number; until: number; lease: string },
  ): Promise<LeasedRow[]> {
    const db = this.#db;
    const results = JSON.stringify(ended.map(({ result }) => result));
    const names = JSON.stringify(asked.map(({ target: { siteId, id } }) => ({ siteId, id })));
    const statements = () => [
      ...(ended.length > 0 ? [recordResults(db, { results })] : []),
      ...healthOf(ended, lease.now).flatMap(({ health, known }) => judge(db, health, known, lease.now)),
      ...asked.flatMap(({ target: { siteId, id }, wanted }) =>
        wanted > 0 ? [leaseDue(db, { ...lease, siteId, webhookId: id, wanted })] : [],
      ),
      selectLeased(db, { ...lease, asked: names }),
    ];
    const read = await withRetries(this.#tools.runtime, () => {
      this.#budget.call();
      return db.batch<LeasedRow>(statements());
    });
    return read.at(-1)?.results ?? [];
  }

  /** @returns how many attempts it started */
  #start(target: Target, rows: LeasedRow[]): number {
    const attempts = rows.filter((row): row is Attempt => row.seq !== null);
    const [first] = attempts;
    const keys =
      first === undefined ? Promise.resolve(undefined) : tryToOpenKeys(this.#tools, this.#home, this.#keyring, first);
    for (const held of attempts) {
      target.inFlight += 1;
      target.retries ||= held.attempts > 1;
      this.#inFlight += 1;
      void this.#attempt(target, held, keys);
    }
    this.counts.begun += attempts.length;
    return attempts.length;
  }

  async #attempt(target: Target, held: Attempt, keys: Promise<CryptoKey[] | undefined>): Promise<void> {
    const { runtime, config } = this.#tools;
    const ended = await attempt(runtime, held, await keys, config.webhookLoopback);
    target.inFlight -= 1;
    target.retries ||= ended.result.nextAttemptAt !== null;
    this.#inFlight -= 1;
    this.#budget.end();
    this.#ended.push(ended);
    this.#attemptEnded();
  }

  #count(status: Ended["result"]["status"]): void {
    this.counts[status === "pending" ? "failed" : status] += 1;
  }

  /**
   * Removes a webhook that has nothing in flight here and nothing more to begin here. The queue is notified of its next attempt,
   * except when other invocations have the most in flight: those go on with the webhook themselves.
   *
   * @param isStopped whether the budget is used up or the database failed
   * @returns the notice for the queue, or none
   */
  #leave(target: Target, nextDue: number | null, isStopped: boolean, now: number): DelayedNotice[] {
    this.#targets.delete(target);
    this.#budget.leave();
    if (nextDue === null || !(nextDue <= now ? isStopped : target.retries)) return [];
    const delaySeconds = Math.min(Math.max(0, nextDue - now), LONGEST_DELAY_SECONDS);
    return [{ home: this.#home, site: target.siteId, webhook: target.id, delaySeconds }];
  }
}
