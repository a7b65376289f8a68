import type { Config } from "../config.ts";
import type { Keyring } from "../credentials/sealed-secret.ts";
import { type Runtime, unixSeconds, withinTime } from "../runtime.ts";
import {
  type Attempt,
  claimDue,
  type HeldRow,
  LEASE_SECONDS,
  selectHeld,
  writeDown,
} from "../store/home/deliveries.ts";
import { judge } from "../store/home/webhook-health.ts";
import { rootOf, withRetries } from "../store/run-batch.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { attempt, type Ended } from "./attempt.ts";
import type { Budget } from "./budget.ts";
import { healthOf } from "./health-of.ts";
import { tryToOpenKeys } from "./open-keys.ts";
import { type DelayedWake, wake } from "./wake.ts";

/** What the delivery works with. */
export interface DeliveryTools {
  runtime: Runtime;
  telemetry: Telemetry;
  config: Pick<Config, "homes" | "closedHomes" | "events" | "masterKeys" | "webhookLoopback">;
}

/** A message of the queue holds at most this delay. */
const LONGEST_DELAY_SECONDS = 43_200;

/** A webhook that is being delivered to. */
interface Target {
  siteId: number;
  id: string;
  underWay: number;
  /** Whether an attempt failed or was not the first: only then has nobody told the queue of the next one. */
  retries: boolean;
}

/**
 * Delivers what is due to some webhooks of one home, as many at once as there are places. Each turn is one batch of D1: it writes down
 * what has ended since the last turn and begins as many new attempts. So there is one call of D1 at a time, and what ends meanwhile is
 * written together.
 */
export class HomeRun {
  readonly counts = { begun: 0, delivered: 0, failed: 0, skipped: 0 };
  /** What the database said when it failed; nothing is begun any more then. */
  fault: string | undefined;
  readonly #tools: DeliveryTools;
  readonly #db: D1Database;
  readonly #home: string;
  readonly #keyring: () => Promise<Keyring>;
  readonly #budget: Budget;
  readonly #targets: Set<Target>;
  #ended: Ended[] = [];
  #underWay = 0;
  readonly #told: Promise<void>[] = [];
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
      webhooks.map(({ site, webhook }) => ({ siteId: site, id: webhook, underWay: 0, retries: false })),
    );
  }

  /** Begins the first attempts. Never rejects. */
  begin(): Promise<void> {
    return this.#turn();
  }

  /** Goes on until nothing is due and nothing under way, or the budget is used up, and the queue is told. Never rejects. */
  async finish(): Promise<void> {
    while (this.#underWay > 0 || this.#ended.length > 0 || (this.#targets.size > 0 && this.fault === undefined)) {
      await this.#work();
      await this.#turn();
    }
    await Promise.all(this.#told);
  }

  /** Waits until there is something to write down, or to begin, or nothing may begin any more. */
  async #work(): Promise<void> {
    if (this.#underWay === 0) return;
    // After a fault what has ended is written with what ends next: asking again at once would load a database that fails already.
    if (this.#ended.length > 0 && this.fault === undefined) return;
    const nextEnd = () => new Promise<void>((resolve) => (this.#attemptEnded = resolve));
    const isAnyWaiting = [...this.#targets].some(({ underWay }) => underWay === 0);
    if (!isAnyWaiting || this.fault !== undefined) await nextEnd();
    else if (!this.#budget.hasPlace && !this.#budget.isUsedUp)
      await withinTime(this.#tools.runtime, this.#budget.timeLeft, nextEnd, () => {});
  }

  async #turn(): Promise<void> {
    const { runtime } = this.#tools;
    const ended = this.#ended.splice(0);
    const isStopped = this.fault !== undefined || this.#budget.isUsedUp;
    const asked = [...this.#targets]
      .map((target) => ({ target, wanted: isStopped ? 0 : this.#budget.take(target.underWay) }))
      // The others wait for a place, or have attempts under way.
      .filter(({ target, wanted }) => wanted > 0 || (isStopped && target.underWay === 0));
    // Who is served goes to the end of the line.
    for (const { target } of asked) {
      this.#targets.delete(target);
      this.#targets.add(target);
    }
    const now = unixSeconds(runtime);
    const claim = { now, until: now + LEASE_SECONDS, claim: runtime.bytes(16).toHex() };
    let rows: HeldRow[];
    try {
      rows = await this.#batch(ended, asked, claim);
    } catch (error) {
      this.fault = rootOf(error).message;
      // Written with what is still under way. Later it would be somebody else's: the sweep finds it.
      if (this.#underWay > 0) this.#ended.unshift(...ended);
      for (const { wanted } of asked) this.#budget.giveBack(wanted);
      return;
    }
    for (const { written } of ended) this.#count(written.status);
    const wakes: DelayedWake[] = [];
    for (const { target, wanted } of asked) {
      const own = rows.filter((row) => row.siteId === target.siteId && row.webhookId === target.id);
      this.#budget.giveBack(wanted - this.#start(target, own));
      if (target.underWay === 0) wakes.push(...this.#leave(target, own[0]?.nextDue ?? null, isStopped, now));
    }
    if (wakes.length === 0) return;
    this.#budget.call();
    // Nothing here waits for the queue: a slow one would keep what has ended from being written down.
    this.#told.push(wake(this.#tools, wakes));
  }

  async #batch(
    ended: Ended[],
    asked: { target: Target; wanted: number }[],
    claim: { now: number; until: number; claim: string },
  ): Promise<HeldRow[]> {
    const db = this.#db;
    const written = JSON.stringify(ended.map((each) => each.written));
    const names = JSON.stringify(asked.map(({ target: { siteId, id } }) => ({ siteId, id })));
    const statements = () => [
      ...(ended.length > 0 ? [writeDown(db, { written })] : []),
      ...healthOf(ended, claim.now).flatMap(({ health, known }) => judge(db, health, known, claim.now)),
      ...asked.flatMap(({ target: { siteId, id }, wanted }) =>
        wanted > 0 ? [claimDue(db, { ...claim, siteId, webhookId: id, wanted })] : [],
      ),
      selectHeld(db, { ...claim, asked: names }),
    ];
    const results = await withRetries(this.#tools.runtime, () => {
      this.#budget.call();
      return db.batch<HeldRow>(statements());
    });
    return results.at(-1)?.results ?? [];
  }

  /** @returns how many attempts it started */
  #start(target: Target, rows: HeldRow[]): number {
    const attempts = rows.filter((row): row is Attempt => row.seq !== null);
    const [first] = attempts;
    const keys =
      first === undefined ? Promise.resolve(undefined) : tryToOpenKeys(this.#tools, this.#home, this.#keyring, first);
    for (const held of attempts) {
      target.underWay += 1;
      target.retries ||= held.attempts > 1;
      this.#underWay += 1;
      void this.#attempt(target, held, keys);
    }
    this.counts.begun += attempts.length;
    return attempts.length;
  }

  async #attempt(target: Target, held: Attempt, keys: Promise<CryptoKey[] | undefined>): Promise<void> {
    const { runtime, config } = this.#tools;
    const ended = await attempt(runtime, held, await keys, config.webhookLoopback);
    target.underWay -= 1;
    target.retries ||= ended.written.nextAttemptAt !== null;
    this.#underWay -= 1;
    this.#budget.end();
    this.#ended.push(ended);
    this.#attemptEnded();
  }

  #count(status: Ended["written"]["status"]): void {
    this.counts[status === "pending" ? "failed" : status] += 1;
  }

  /**
   * A webhook with nothing under way here, and nothing due that may begin here. The queue is told of what comes next, but not of what is due
   * while others have as many under way as may be: they go on by themselves.
   *
   * @param isStopped whether the budget is used up
   * @returns what to tell the queue
   */
  #leave(target: Target, nextDue: number | null, isStopped: boolean, now: number): DelayedWake[] {
    this.#targets.delete(target);
    this.#budget.leave();
    if (nextDue === null || !(nextDue <= now ? isStopped : target.retries)) return [];
    const delaySeconds = Math.min(Math.max(0, nextDue - now), LONGEST_DELAY_SECONDS);
    return [{ home: this.#home, site: target.siteId, webhook: target.id, delaySeconds }];
  }
}
