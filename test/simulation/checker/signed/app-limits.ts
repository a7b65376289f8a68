import type { Call } from "../../world/call.ts";
import { LIMITS } from "../../world/cloud/settings.ts";
import type { Violate } from "../violate.ts";
import { areLimitsBound, EARLY_MS, LIMITER_MS } from "./limits.ts";

/** An isolate refuses for so long after an app or a site exceeded its limit, in milliseconds. */
const PAUSE_MS = 1_000;

/** Calls of one key in one window of one location. */
interface Counter {
  window: number;
  /** Those that the app made itself: each ranstr once, however often somebody sends it. */
  own: number;
  /** Those that were certainly counted. */
  sure: number;
}

/** When an isolate learnt that a limit was exceeded, in milliseconds: by the app's own calls, and for certain. */
interface Exceeded {
  own: number[];
  sure: number[];
}

/** The count of what an app signed and the form of which is wrong: docs/operating.md, "Limits". */
const malformed = (appid: string): string => `malformed ${appid}`;

/**
 * The limits of an app and its site: who may be refused with 429 by what they did themselves, and who must be. It counts what the
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
  charge(call: Call, { appid, siteId, ranstr }: { appid: string; siteId: number | undefined; ranstr: string }): void {
    const once = `${call.edge} ${appid} ${ranstr}`;
    const isOwn = !this.#charged.has(once);
    this.#charged.add(once);
    this.#count(call, `app ${appid}`, LIMITS.APP_LIMIT, isOwn);
    this.#count(call, `site ${siteId}`, LIMITS.SITE_LIMIT, isOwn);
  }

  /**
   * A request that an app has signed was refused for its form. It can be sent again by anybody, so each counts, but apart from all that is
   * right in form.
   */
  chargeMalformed(call: Call, appid: string): void {
    this.#letThrough(call, [malformed(appid)], call.arrivedAt as number);
    this.#count(call, malformed(appid), LIMITS.APP_LIMIT, true);
  }

  /** A signed request is over the limit of those that are wrong in form: it costs no read of KV. */
  checkCost(call: Call, appid: string): void {
    if (this.#known(call, malformed(appid), call.answeredAt as number) === undefined) return;
    if (!call.trips.some(({ to }) => to === "NONCES get")) return;
    this.#violate(
      "a request over the limit of malformed ones causes no read of NONCES",
      `${call.name} read it, ${appid} had exceeded its limit`,
      [call.name, appid],
    );
  }

  /** Whether an app's or a site's own calls explain that a call is refused with 429; of those that are malformed only for another one. */
  explains(call: Call, appid: string, siteId: number | undefined, isMalformed: boolean): boolean {
    if (!areLimitsBound(call)) return false;
    const since = (call.arrivedAt as number) - PAUSE_MS - LIMITER_MS;
    const names = [`app ${appid}`, `site ${siteId}`, ...(isMalformed ? [malformed(appid)] : [])];
    return names.some((name) => this.#exceededOf(call, name).own.some((at) => at >= since));
  }

  /** A request was let through: an isolate that knows of an exceeded limit lets none through. */
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

  /** When the call's isolate learnt that a limit is exceeded, if it knew so from the call's arrival until `at`. */
  #known(call: Call, name: string, at: number): number | undefined {
    if (!areLimitsBound(call)) return undefined;
    const since = this.#exceededOf(call, name).sure.findLast((time) => (call.arrivedAt as number) > time + LIMITER_MS);
    return since === undefined || at >= since + PAUSE_MS - EARLY_MS ? undefined : since;
  }

  #letThrough(call: Call, names: readonly string[], at: number): void {
    for (const name of names) {
      const since = this.#known(call, name, at);
      if (since === undefined) continue;
      this.#violate(
        "an isolate refuses who has exceeded a limit",
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
