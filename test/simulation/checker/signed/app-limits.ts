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
    const now = call.answeredAt as number;
    const once = `${call.edge} ${appid} ${ranstr}`;
    const isOwn = !this.#charged.has(once);
    this.#charged.add(once);
    for (const [name, { limit, period }] of [
      [`app ${appid}`, LIMITS.APP_LIMIT],
      [`site ${siteId}`, LIMITS.SITE_LIMIT],
    ] as const) {
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
  }

  /** Whether an app's or a site's own calls explain that a call is refused with 429. */
  explains(call: Call, appid: string, siteId: number | undefined): boolean {
    if (!areLimitsBound(call)) return false;
    const since = (call.arrivedAt as number) - PAUSE_MS - LIMITER_MS;
    return [`app ${appid}`, `site ${siteId}`].some((name) =>
      this.#exceededOf(call, name).own.some((at) => at >= since),
    );
  }

  /** A request was let through: an isolate that knows of an exceeded limit lets none through. */
  letThrough(call: Call, appid: string, siteId: number | undefined, at: number): void {
    if (!areLimitsBound(call)) return;
    for (const name of [`app ${appid}`, `site ${siteId}`]) {
      const since = this.#exceededOf(call, name).sure.findLast(
        (time) => (call.arrivedAt as number) > time + LIMITER_MS,
      );
      if (since === undefined || at >= since + PAUSE_MS - EARLY_MS) continue;
      this.#violate(
        "an isolate refuses who has exceeded a limit",
        `${call.name} was let through ${Math.round(at - since)} ms after the limit of ${name} was exceeded`,
        [call.name, appid],
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
