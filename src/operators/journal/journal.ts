import { type Runtime, sleep } from "../../core/runtime.ts";
import { rootOf } from "../../core/store/run-batch.ts";
import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import type { Refusal } from "../store/home/refusals.ts";

/** A message of the queue JOURNAL: refused calls for the journal of one home. */
export interface JournalMessage {
  home: string;
  refusals: SentRefusal[];
}

/** A row on its way. `isRouted`: the directory knows the appid as this site's, so the row is valid also when the home lacks the app. */
type SentRefusal = Refusal & { isRouted?: true };

/** Where an app is, as the request has found out. */
type AppPlace = Pick<SentRefusal, "siteId" | "isRouted"> & { home: string };

/** A refused call of an app that nobody could look up. */
type UnplacedRefusal = Omit<Refusal, "siteId">;

/** How many calls of an app have a row of their own in each minute of the clock. They are the first refused ones. */
const OWN_ROWS = 20;

/** Further calls share rows: an isolate gives an app at most one more row in `every` ms. Calls of the first `wait` ms share the first. */
const SHARED_ROWS = {
  verified: { wait: 1_000, every: 1_000 },
  /** For calls whose signature did not verify. Appids are public, so anybody can send such calls. */
  unverified: { wait: 3_000, every: 60_000 },
} as const;

type SharedRowKind = keyof typeof SHARED_ROWS;

/** A home gets at most one message in this time. */
const PAUSE_MS = 1_000;

/**
 * How many pauses the work after one answer may wait for rows to become due. During the last pauses, later calls begin work of their own:
 * otherwise the last call of a flood could stay unsent.
 */
const MOST_PAUSES = 10;
const LAST_PAUSES = 4;

/** At most about 100 KB: a message of the queue has at most 128 KB. */
const ROWS_PER_MESSAGE = 50;

/**
 * The most apps that an isolate knows: it forgets the one noted longest ago, with its waiting calls. Also the most unsent rows of a home.
 */
const MOST_APPS = 10_000;
const MOST_UNSENT = 500;

/** What is known of an app: its rows of this minute, and its calls that wait for a shared row. */
interface WaitingApp {
  kind: SharedRowKind;
  home: string;
  /** How many calls of the `minute` may still have a row of their own. */
  ownLeft: number;
  minute: number;
  /** From when on, by `elapsed`, it may get a shared row. */
  sharedAt: number;
  /** The last call of each operation and reason, with the number of earlier calls that have no row. */
  calls: Map<string, SentRefusal>;
}

/**
 * What an isolate knows of refused calls that the journal does not have yet. It holds data, never promises: the work of one request may be
 * cut off, and then the next request sends its rows.
 */
export class Journal {
  readonly #runtime: Runtime;
  readonly #telemetry: Telemetry;
  /** By kind and appid. */
  readonly #apps = new Map<string, WaitingApp>();
  /** Waiting calls whose home is not known, by appid: the directory did not answer or was not asked. */
  readonly #unplaced = new Map<string, Map<string, UnplacedRefusal>>();
  readonly #unsent = new Map<string, SentRefusal[]>();
  /** When each home got its last message, by `elapsed`. */
  readonly #sentAt = new Map<string, number>();
  /** When the next waiting call may get a row. */
  #nextRowAt = Number.POSITIVE_INFINITY;
  /** Until when work after an earlier answer watches for due rows. */
  #watchedUntil = Number.NEGATIVE_INFINITY;

  constructor(runtime: Runtime, telemetry: Telemetry) {
    this.#runtime = runtime;
    this.#telemetry = telemetry;
  }

  /**
   * Notes a refused call. It gets a row when it is among the first of its app in this minute. Otherwise it is counted in the next row of
   * the same app, operation and reason. Without a place it waits for {@link find}.
   */
  note(place: AppPlace | undefined, refusal: Omit<UnplacedRefusal, "skipped">): void {
    const call = { ...refusal, skipped: 0 };
    if (place !== undefined) {
      this.#note(place, call);
      return;
    }
    const calls = this.#unplaced.get(call.appid) ?? new Map<string, UnplacedRefusal>();
    keepNewest(this.#unplaced, call.appid, calls);
    addWaitingCall(calls, call);
  }

  /** Sets where an app is. Its calls that waited for this get rows. Each request of a known app calls this, so it is cheap. */
  find({ appid, ...place }: AppPlace & { appid: string }): void {
    const calls = this.#unplaced.get(appid);
    if (calls === undefined) return;
    this.#unplaced.delete(appid);
    for (const refusal of calls.values()) this.#note(place, refusal);
  }

  #note({ home, ...place }: AppPlace, refusal: UnplacedRefusal): void {
    const kind = refusal.secret === null ? "unverified" : "verified";
    const key = `${kind} ${refusal.appid}`;
    const minute = this.#minute();
    const unknown = { kind, home, ownLeft: OWN_ROWS, minute, sharedAt: 0, calls: new Map() } satisfies WaitingApp;
    const app: WaitingApp = this.#apps.get(key) ?? unknown;
    app.home = home;
    // Calls whose row is due get it now and are not counted in a later row: the time of a row is near the time of its calls.
    this.#giveRows(app, key);
    if (app.minute !== minute) Object.assign(app, { minute, ownLeft: OWN_ROWS });
    if (app.calls.size === 0) app.sharedAt = Math.max(app.sharedAt, this.#runtime.elapsed() + SHARED_ROWS[kind].wait);
    keepNewest(this.#apps, key, app);
    const callKey = addWaitingCall(app.calls, { ...refusal, ...place });
    if (app.ownLeft > 0 && this.#giveRow(app, callKey)) app.ownLeft--;
    this.#nextRowAt = Math.min(this.#nextRowAt, this.#giveRows(app, key));
  }

  /** Whether a row is due in the next seconds and no work after an earlier answer sends it. Each request calls this, so it is cheap. */
  isDue(): boolean {
    return this.#isRowSoon() && this.#watchedUntil <= this.#runtime.elapsed();
  }

  /** Whether a row is due soon. A call that waits for a minute is left to a later request. */
  #isRowSoon(): boolean {
    return this.#unsent.size > 0 || this.#nextRowAt <= this.#runtime.elapsed() + SHARED_ROWS.unverified.wait;
  }

  /**
   * Sends what is due to the queue, one message in a second for each home. For `waitUntil`: it goes on for up to 10 s while rows
   * become due. Never throws.
   */
  async send(journal: Queue): Promise<void> {
    for (let pause = 0; pause < MOST_PAUSES; pause++) {
      this.#nextRowAt = Number.POSITIVE_INFINITY;
      for (const [key, app] of this.#apps) this.#nextRowAt = Math.min(this.#nextRowAt, this.#giveRows(app, key));
      if (pause < MOST_PAUSES - LAST_PAUSES) this.#watchedUntil = this.#runtime.elapsed() + PAUSE_MS;
      await this.#sendOnce(journal);
      if (!this.#isRowSoon()) break;
      await sleep(this.#runtime, PAUSE_MS);
    }
    this.#watchedUntil = Number.NEGATIVE_INFINITY;
  }

  async #sendOnce(journal: Queue): Promise<void> {
    for (const [home, rows] of [...this.#unsent]) {
      // The clock is read for each home: the queue may have been slow to take the last message.
      const now = this.#runtime.elapsed();
      if (now - (this.#sentAt.get(home) ?? Number.NEGATIVE_INFINITY) < PAUSE_MS) continue;
      const refusals = rows.slice(0, ROWS_PER_MESSAGE);
      this.#sentAt.set(home, now);
      try {
        await journal.send({ home, refusals } satisfies JournalMessage, { contentType: "json" });
        // The rows stay in memory until the queue has them: a request that is cut off here must not lose them.
        const unsentRows = (this.#unsent.get(home) ?? []).filter((row) => !refusals.includes(row));
        if (unsentRows.length > 0) this.#unsent.set(home, unsentRows);
        else this.#unsent.delete(home);
      } catch (error) {
        this.#telemetry.warn({ warning: "the queue took no refused calls", fault: rootOf(error).message });
      }
    }
  }

  #minute(): number {
    return Math.floor(this.#runtime.now() / 60_000);
  }

  /** Gives a waiting call its row. @returns false while the queue takes nothing: calls wait and are counted, and no row is dropped */
  #giveRow(app: WaitingApp, callKey: string): boolean {
    const [refusal, unsent] = [app.calls.get(callKey), this.#unsent.get(app.home) ?? []];
    if (refusal === undefined || unsent.length >= MOST_UNSENT) return false;
    app.calls.delete(callKey);
    this.#unsent.set(app.home, [...unsent, refusal]);
    return true;
  }

  /**
   * Gives shared rows to the waiting calls of an app, the longest waiting first. @returns when the next row is possible, if one is needed
   */
  #giveRows(app: WaitingApp, key: string): number {
    const now = this.#runtime.elapsed();
    for (const callKey of [...app.calls.keys()]) {
      if (now < app.sharedAt) return app.sharedAt;
      if (!this.#giveRow(app, callKey)) return now + PAUSE_MS;
      app.sharedAt = now + SHARED_ROWS[app.kind].every;
    }
    if (now >= app.sharedAt && app.minute !== this.#minute()) this.#apps.delete(key);
    return Number.POSITIVE_INFINITY;
  }
}

/** Puts an app at the end of the map. The first app was noted longest ago, and is forgotten first. */
function keepNewest<T>(apps: Map<string, T>, key: string, app: T): void {
  apps.delete(key);
  apps.set(key, app);
  for (const oldest of apps.keys()) {
    if (apps.size <= MOST_APPS) break;
    apps.delete(oldest);
  }
}

/** Lets a call wait for its row. It replaces the waiting call of the same operation and reason, and counts it. @returns its key */
export function addWaitingCall<T extends UnplacedRefusal>(calls: Map<string, T>, refusal: T): string {
  const callKey = `${refusal.operation} ${refusal.reason}`;
  const before = calls.get(callKey);
  const skipped = refusal.skipped + (before === undefined ? 0 : before.skipped + 1);
  calls.set(callKey, { ...refusal, skipped });
  return callKey;
}

/** Whether a message of a queue is one of the journal's. Both queues have one consumer, and their names can be changed. */
export function isJournalMessage(body: unknown): body is JournalMessage {
  const { home, refusals } = (body ?? {}) as Partial<Record<keyof JournalMessage, unknown>>;
  return typeof home === "string" && Array.isArray(refusals);
}
