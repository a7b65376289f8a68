import type { Violate } from "../../checker/violate.ts";
import type { Call, Trip } from "../../world/call.ts";

/** Milliseconds for which an isolate certainly caches credentials: 300 s, minus 1 s for the call that reads them. */
const CACHED_MS = 299_000;
/** The most milliseconds that a call is in flight. */
const CALL_MS = 10_000;

/** Which apps each isolate has in its cache: docs/architecture.md, "Why it is fast, and why that harms nothing". */
export class Costs {
  readonly #violate: Violate;
  /** How often an app's row was written. A row that was written only once is the same in all caches. */
  readonly #writes = new Map<string, number>();
  /** The last read of credentials, by isolate and app. It began at `from` or later, and has ended at `end`. */
  readonly #loads = new Map<string, { from: number; end: number }>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  noteChange(appid: string): void {
    this.#writes.set(appid, (this.#writes.get(appid) ?? 0) + 1);
  }

  /** Notes that all caches of one app, or of all apps, may be outdated from now on. */
  outdate(appid?: string): void {
    for (const each of appid === undefined ? this.#writes.keys() : [appid]) this.noteChange(each);
  }

  /** Whether the isolate had the app's record in its cache during the whole call, and the record has never changed. */
  isWarm({ isolate, arrivedAt, answeredAt }: Call, appid: string): boolean {
    const load = this.#loads.get(`${isolate?.name} ${appid}`);
    if (load === undefined || this.#writes.get(appid) !== 1) return false;
    return (arrivedAt as number) > load.end && (answeredAt as number) < load.from + CACHED_MS;
  }

  /** Checks the cost of a call that was answered with its result and has used up its ranstr. */
  done(call: Call, appid: string): void {
    const databaseTrips = call.trips.filter(isDatabase);
    if (call.faults.length === 0 && this.isWarm(call, appid) && databaseTrips.length !== 1) {
      this.#violate(
        "a request of an app that the isolate knows costs one trip to D1",
        `${call.name} made ${databaseTrips.length}: ${databaseTrips.map(({ to }) => to).join(", ")}`,
        [call.name, appid],
      );
    }
    this.#noteLoad(call, appid);
  }

  #noteLoad(call: Call, appid: string): void {
    const isCold = call.trips.some((trip) => trip.to === "CREDENTIALS get" || (isDatabase(trip) && !isBatch(trip)));
    if (!isCold) return;
    const key = `${call.isolate?.name} ${appid}`;
    // A call that arrived earlier and was still in flight may have read the credentials for this one.
    const from = (call.arrivedAt as number) - CALL_MS;
    const knownLoad = this.#loads.get(key);
    if (knownLoad !== undefined && from < knownLoad.from + CACHED_MS + CALL_MS) return;
    this.#loads.set(key, { from, end: call.answeredAt as number });
  }
}

const isDatabase = ({ to }: Trip): boolean => !/^(NONCES|CREDENTIALS|EVENTS|JOURNAL) /.test(to);
const isBatch = ({ to }: Trip): boolean => to.endsWith(" batch");
