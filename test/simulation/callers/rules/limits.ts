import type { Call } from "../../world/call.ts";
import { LIMITS } from "../../world/cloud/settings.ts";

/**
 * Which calls may cause a 429: docs/operating/sites-and-secrets.md, "Limits". Calls of anybody else must not cause one. Tests of the
 * limits check when a call must be refused.
 */

/** Milliseconds until a limit answers and the isolate knows the count. */
const LIMITER_MS = 1;
/** Milliseconds for which an isolate refuses an app or a site, and an address, after its limit was exceeded. */
const APP_REFUSED_MS = 1_000;
const CLIENT_REFUSED_MS = 60_000;
const PERIOD_MS = LIMITS.CLIENT_LIMIT.period * 1000;

/** Whether the limits are bound in a call's deployment. */
const areLimitsBound = ({ isolate }: Call): boolean => isolate !== undefined && "APP_LIMIT" in isolate.env;

/** The limits of an app and its site: only their own calls count, and each ranstr once. */
export class AppLimits {
  /** The number of own calls in the last window, by location and key. */
  readonly #counters = new Map<string, { window: number; count: number }>();
  /** When an isolate learnt that own calls exceeded a limit, in milliseconds of virtual time. */
  readonly #exceededAt = new Map<string, number>();
  readonly #chargedCalls = new Set<string>();

  /** Counts a request of an app that has used up its ranstr. */
  charge(call: Call, request: { appid: string; siteId: number | undefined; ranstr: string; timestamp: number }): void {
    // A forgotten ranstr may be used again with a new timestamp.
    const once = `${call.edge} ${request.appid} ${request.ranstr} ${request.timestamp}`;
    const isOwn = !this.#chargedCalls.has(once);
    this.#chargedCalls.add(once);
    this.#count(call, `app ${request.appid}`, LIMITS.APP_LIMIT, isOwn);
    this.#count(call, `site ${request.siteId}`, LIMITS.SITE_LIMIT, isOwn);
  }

  /** Whether a 429 follows from the calls of the app or its site. */
  explains(call: Call, appid: string, siteId: number | undefined): boolean {
    const since = (call.arrivedAt as number) - APP_REFUSED_MS - LIMITER_MS;
    const names = [`app ${appid}`, `site ${siteId}`];
    return (
      areLimitsBound(call) &&
      names.some((name) => (this.#exceededAt.get(`${call.isolate?.name} ${name}`) ?? Number.NEGATIVE_INFINITY) >= since)
    );
  }

  #count(call: Call, name: string, { limit, period }: { limit: number; period: number }, isOwn: boolean): void {
    const now = call.answeredAt as number;
    const key = `${call.edge} ${name}`;
    const window = Math.floor(now / (period * 1000));
    const knownCounter = this.#counters.get(key);
    const counter = knownCounter?.window === window ? knownCounter : { window, count: 0 };
    this.#counters.set(key, counter);
    if (isOwn) counter.count++;
    if (counter.count > limit) this.#exceededAt.set(`${call.isolate?.name} ${name}`, now);
  }
}

/** The limit of an address: only calls from the address that fail, or may still fail, count. */
export class ClientLimit {
  /** Calls by edge and client, in the order of their arrival. */
  readonly #calls = new Map<string, Call[]>();
  /** The calls that failed or may still fail. The value says whether the appid is unknown. */
  readonly #failures = new Map<Call, boolean>();

  arrives(call: Call, isUnknown: boolean): void {
    const key = `${call.edge} ${call.client}`;
    const calls = this.#calls.get(key);
    if (calls === undefined) this.#calls.set(key, [call]);
    else calls.push(call);
    this.#failures.set(call, isUnknown);
  }

  succeeds(call: Call): void {
    this.#failures.delete(call);
  }

  /** Notes that the signature of a call did not verify, or that its appid is unknown. */
  fails(call: Call, isUnknown: boolean): void {
    this.#failures.set(call, isUnknown);
  }

  /** Whether failures from the call's address explain that it is refused with 429. */
  explains(call: Call): boolean {
    const now = call.answeredAt as number;
    // A limit that gave no answer was asked long before the call's answer, perhaps in the window before.
    const askedAt = call.limiterFailed ? (call.arrivedAt as number) : now;
    const from = Math.floor((askedAt - LIMITER_MS) / PERIOD_MS) * PERIOD_MS;
    return areLimitsBound(call) && this.#count(call, from, now, false) > LIMITS.CLIENT_LIMIT.limit;
  }

  /** Whether unknown appids from the call's address explain that it got no turn at D1. */
  explainsTurn(call: Call): boolean {
    if (!areLimitsBound(call)) return false;
    const now = call.answeredAt as number;
    const first = Math.floor(((call.arrivedAt as number) - CLIENT_REFUSED_MS - LIMITER_MS) / PERIOD_MS) * PERIOD_MS;
    for (let start = first; start <= now; start += PERIOD_MS) {
      if (this.#count(call, start - LIMITER_MS, start + PERIOD_MS, true) > LIMITS.CLIENT_LIMIT.limit) return true;
    }
    return false;
  }

  /** How many calls of a client at this location failed, or may still fail, the call itself included. */
  #count(call: Call, from: number, to: number, onlyUnknown: boolean): number {
    const calls = this.#calls.get(`${call.edge} ${call.client}`) ?? [];
    return calls.filter((other) => {
      const isUnknown = this.#failures.get(other);
      if (isUnknown === undefined || (onlyUnknown && !isUnknown) || (other.arrivedAt as number) > to) return false;
      return (other.answeredAt ?? Number.POSITIVE_INFINITY) >= from;
    }).length;
  }
}
