import type { Call, Trip } from "../../world/call.ts";
import { NEGATIVE_CACHE_MS, NONCE_SECONDS } from "../periods.ts";
import type { Violate } from "../violate.ts";
import { clientKey } from "./limits.ts";

/** How long an isolate certainly keeps an app's credentials: 300 s, minus one second for the call that reads them. */
const CACHED_MS = 299_000;
/** The most milliseconds that a call is in flight. */
const CALL_MS = 10_000;
/** How long an isolate certainly remembers a used ranstr: 1,860 s, minus one second for the call that uses it. */
const REMEMBERED_MS = (NONCE_SECONDS - 1) * 1000;

/**
 * Milliseconds within which a try of D1 must answer: 3 s, minus a margin for an answer that arrives at the very end.
 */
const TRY_MS = 2_990;

/** The result of an answered call. */
interface Told {
  appid: string;
  ranstr: string | undefined;
  /** The call used up its ranstr, and its answer gives the result. */
  done: boolean;
  /** The signature did not verify, or the appid is unknown. */
  failed: boolean;
}

/**
 * How many calls of bindings a request may cost, by docs/architecture.md, "Why it is fast, and why that harms nothing",
 * and docs/threat-model.md.
 */
export class Costs {
  readonly #violate: Violate;
  /** How often an app's row was written. A row that was written only once is the same in all caches. */
  readonly #writes = new Map<string, number>();
  /**
   * The time of an isolate's last read of an app's credentials, by isolate and app: it is not earlier than `from`, and
   * has ended at `done`.
   */
  readonly #loads = new Map<string, { from: number; done: number }>();
  /** Calls with one ranstr, by isolate, app and ranstr. */
  readonly #sameRanstr = new Map<string, { call: Call; done: boolean }[]>();
  /** The last forgery that cost a read of D1, by isolate, app and client. */
  readonly #forgeries = new Map<string, Call>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  changed(appid: string): void {
    this.#writes.set(appid, (this.#writes.get(appid) ?? 0) + 1);
  }

  /** From here on, all caches may be outdated: of one app, or of all apps. */
  outdate(appid?: string): void {
    for (const each of appid === undefined ? this.#writes.keys() : [appid]) this.changed(each);
  }

  /** Whether the isolate had the app's one and only record in its cache during the whole call. */
  isWarm({ isolate, arrivedAt, answeredAt }: Call, appid: string): boolean {
    const load = this.#loads.get(`${isolate?.name} ${appid}`);
    if (load === undefined || this.#writes.get(appid) !== 1) return false;
    return (arrivedAt as number) > load.done && (answeredAt as number) < load.from + CACHED_MS;
  }

  answers(call: Call, told: Told): void {
    if (told.done && told.ranstr !== undefined && call.faults.length === 0) this.#checkTrips(call, told);
    this.#checkTries(call, told.appid);
    if (told.failed) this.#checkForgery(call, told.appid);
    if (told.ranstr !== undefined)
      this.#checkRanstr(call, told.appid, told.ranstr, told.done && call.faults.length === 0);
    if (told.done) this.#noteLoad(call, told.appid);
  }

  #checkTrips(call: Call, { appid }: Told): void {
    const asked = databaseTrips(call);
    if (!this.isWarm(call, appid) || asked.length === 1) return;
    this.#violate(
      "a request of an app that the isolate knows costs one trip to D1",
      `${call.name} made ${asked.length}: ${asked.map(({ to }) => to).join(", ")}`,
      [call.name, appid],
    );
  }

  /**
   * docs/architecture.md, "Time is bounded": the Worker retries only after silence and after errors that D1 calls
   * transient.
   */
  #checkTries(call: Call, appid: string): void {
    for (const { to, at, refusedAt } of call.trips.filter(isBatch)) {
      if (refusedAt === undefined || refusedAt - at >= TRY_MS) continue;
      if (!call.trips.some((trip) => trip.to === to && trip.at >= refusedAt)) continue;
      this.#violate("a permanent error of D1 is not retried", `${call.name} asked ${to} again after ${refusedAt}`, [
        call.name,
        appid,
      ]);
    }
  }

  #checkForgery(call: Call, appid: string): void {
    if (call.faults.length > 0 || databaseTrips(call).length === 0 || !this.isWarm(call, appid)) return;
    const key = `${call.isolate?.name} ${appid} ${clientKey(call)}`;
    const before = this.#forgeries.get(key);
    if (before !== undefined && (call.answeredAt as number) - (before.arrivedAt as number) < NEGATIVE_CACHE_MS) {
      this.#violate(
        "forgeries from one address cost one read of D1 in 5 s",
        `${call.name} caused one after ${before.name} did`,
        [call.name, before.name],
      );
    }
    this.#forgeries.set(key, call);
  }

  #checkRanstr(call: Call, appid: string, ranstr: string, done: boolean): void {
    const key = JSON.stringify([call.isolate?.name, appid, ranstr]);
    const others = this.#sameRanstr.get(key) ?? [];
    for (const other of others) {
      if (other.done) this.#checkPair(other.call, call);
      if (done) this.#checkPair(call, other.call);
    }
    this.#sameRanstr.set(key, [...others, { call, done }]);
  }

  /** Checks two calls in one isolate: `first` has used up the ranstr of `second`. */
  #checkPair(first: Call, second: Call): void {
    const began = first.trips.find(isBatch)?.at;
    const until = (first.arrivedAt as number) + REMEMBERED_MS;
    if (began === undefined || (second.answeredAt as number) > until) return;
    const asked =
      second.trips.find((trip) => isBatch(trip) && trip.at > began) ??
      ((second.arrivedAt as number) > (first.answeredAt as number)
        ? second.trips.find(({ to }) => to === "NONCES get")
        : undefined);
    if (asked === undefined) return;
    this.#violate(
      "a replay costs neither KV nor a batch in an isolate that knows the first request",
      `${second.name} asked ${asked.to}, its isolate knew ${first.name}`,
      [second.name, first.name],
    );
  }

  #noteLoad(call: Call, appid: string): void {
    const isCold = call.trips.some((trip) => trip.to === "CREDENTIALS get" || (isDatabase(trip) && !isBatch(trip)));
    if (!isCold) return;
    const key = `${call.isolate?.name} ${appid}`;
    // A call that arrived earlier and was still in flight may have read the credentials for this one.
    const from = (call.arrivedAt as number) - CALL_MS;
    const known = this.#loads.get(key);
    if (known !== undefined && from < known.from + CACHED_MS + CALL_MS) return;
    this.#loads.set(key, { from, done: call.answeredAt as number });
  }
}

const isDatabase = ({ to }: Trip): boolean => !/^(NONCES|CREDENTIALS|EVENTS|JOURNAL) /.test(to);
const isBatch = ({ to }: Trip): boolean => to.endsWith(" batch");
const databaseTrips = ({ trips }: Call): Trip[] => trips.filter(isDatabase);
