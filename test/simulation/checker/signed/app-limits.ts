import type { Call } from "../../world/call.ts";
import { LIMITS } from "../../world/cloud/settings.ts";
import type { Violate } from "../violate.ts";
import { areLimitsBound, EARLY_MS, LIMITER_MS } from "./limits.ts";

/** Milliseconds for which an isolate refuses an app or a site after its limit was exceeded. */
const REFUSED_MS = 1_000;

/** Calls of one key in one window of one location. */
interface Counter {
  window: number;
  /** Calls that the app made itself: each ranstr counts once, however often somebody sends it. */
  own: number;
  /** Calls that the limit has certainly counted. */
  sure: number;
}

/**
 * When an isolate learnt that a limit was exceeded, in milliseconds: by the app's own calls, and by calls that were
 * certainly counted.
 */
interface Exceeded {
  own: number[];
  sure: number[];
}

/** The key of an app's signed calls with a wrong form: docs/operating.md, "Limits". */
const malformed = (appid: string): string => `malformed ${appid}`;

/**
 * The limits of an app and its site: whose own calls may lead to a 429, and whose must. It counts the calls that the
 * platform's limits are promised to count.
 */
export class AppLimits {
  readonly #violate: Violate;
  readonly #counters = new Map<string, Counter>();
  readonly #exceeded = new Map<string, Exceeded>();
  readonly #charged = new Set<string>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  /** A request of an app has used up its ranstr. */
  charge(
    call: Call,
    {
      appid,
      siteId,
      ranstr,
      timestamp,
    }: { appid: string; siteId: number | undefined; ranstr: string; timestamp: number },
  ): void {
    // With a new timestamp, a ranstr that is forgotten is good again.
    const once = `${call.edge} ${appid} ${ranstr} ${timestamp}`;
    const isOwn = !this.#charged.has(once);
    this.#charged.add(once);
    this.#count(call, `app ${appid}`, LIMITS.APP_LIMIT, isOwn);
    this.#count(call, `site ${siteId}`, LIMITS.SITE_LIMIT, isOwn);
  }

  /**
   * A request that an app signed was refused for its form. Anybody can send it again, so every copy counts, but under a
   * key apart from well-formed calls.
   */
  chargeMalformed(call: Call, appid: string): void {
    this.#letThrough(call, [malformed(appid)], call.arrivedAt as number);
    this.#count(call, malformed(appid), LIMITS.APP_LIMIT, true);
  }

  /** A signed request over the limit of malformed ones must cost no read of KV. */
  checkCost(call: Call, appid: string): void {
    if (this.#known(call, malformed(appid), call.answeredAt as number) === undefined) return;
    if (!call.trips.some(({ to }) => to === "NONCES get")) return;
    this.#violate(
      "a request over the limit of malformed ones causes no read of NONCES",
      `${call.name} read it, ${appid} had exceeded its limit`,
      [call.name, appid],
    );
  }

  /**
   * Whether the calls of an app or its site explain a 429. Malformed calls explain only the 429 of another malformed
   * call.
   */
  explains(call: Call, appid: string, siteId: number | undefined, isMalformed: boolean): boolean {
    if (!areLimitsBound(call)) return false;
    const since = (call.arrivedAt as number) - REFUSED_MS - LIMITER_MS;
    const names = [`app ${appid}`, `site ${siteId}`, ...(isMalformed ? [malformed(appid)] : [])];
    return names.some((name) => this.#exceededOf(call, name).own.some((at) => at >= since));
  }

  /** A request was accepted: an isolate that knows of an exceeded limit must accept none. */
  letThrough(call: Call, appid: string, siteId: number | undefined, at: number): void {
    this.#letThrough(call, [`app ${appid}`, `site ${siteId}`], at);
  }

  #count(call: Call, name: string, { limit, period }: { limit: number; period: number }, isOwn: boolean): void {
    const now = call.answeredAt as number;
    const key = `${call.edge} ${name}`;
    const window = Math.floor(now / (period * 1000));
    const known = this.#counters.get(key);
    const counter = known?.window === window ? known : { window, own: 0, sure: 0 };
    this.#counters.set(key, counter);
    if (isOwn) counter.own++;
    if (!call.limiterFailed) counter.sure++;
    const exceeded = this.#exceededOf(call, name);
    if (counter.own > limit) exceeded.own.push(now);
    if (counter.sure > limit && !call.limiterFailed) exceeded.sure.push(now);
  }

  /** When the call's isolate learnt that a limit was exceeded, if it knew so from the call's arrival until `at`. */
  #known(call: Call, name: string, at: number): number | undefined {
    if (!areLimitsBound(call)) return undefined;
    const since = this.#exceededOf(call, name).sure.findLast((time) => (call.arrivedAt as number) > time + LIMITER_MS);
    return since === undefined || at >= since + REFUSED_MS - EARLY_MS ? undefined : since;
  }

  #letThrough(call: Call, names: readonly string[], at: number): void {
    for (const name of names) {
      const since = this.#known(call, name, at);
      if (since === undefined) continue;
      this.#violate(
        "an isolate that knows of an exceeded limit refuses",
        `${call.name} was let through ${Math.round(at - since)} ms after the limit of ${name} was exceeded`,
        [call.name, name.split(" ")[1] ?? ""],
      );
    }
  }

  #exceededOf({ isolate }: Call, name: string): Exceeded {
    const key = `${isolate?.name} ${name}`;
    let exceeded = this.#exceeded.get(key);
    if (exceeded === undefined) {
      exceeded = { own: [], sure: [] };
      this.#exceeded.set(key, exceeded);
    }
    return exceeded;
  }
}
