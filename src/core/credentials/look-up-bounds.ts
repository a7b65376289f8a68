import { type Runtime, sleep } from "../runtime.ts";
import { TRY_LIMIT_MS } from "../store/run-batch.ts";
import { remember } from "./remember.ts";

/** How long an appid and address get no further look-up after one that found nothing new. Otherwise forgers would keep D1 busy. */
const NEGATIVE_CACHE_MS = 5_000;
/** How long a look-up in flight makes others wait: one try of D1. A request that the platform cuts off never removes its entry. */
const IN_FLIGHT_MS = TRY_LIMIT_MS;
/** The look-up in flight is polled, because Workers forbid a request to await a promise of another request. */
const IN_FLIGHT_POLL_MS = 5;
/** The most confirmations of one app per second. Otherwise one captured request, sent again and again, would keep D1 busy. */
const CONFIRMATIONS_PER_SECOND = 10;

/**
 * Bounds on the look-ups in D1 for callers whose signature fails or whose request is refused anyway. Each bound counts per appid
 * and address, or per appid and signature, so that a forger delays nobody else.
 */
export class LookUpBounds {
  readonly #runtime: Runtime;
  /** The negative cache: the end times of the look-ups that found nothing new. */
  readonly #foundNothingAt = new Map<string, number>();
  /** The time until which each look-up in flight makes others wait. */
  readonly #inFlight = new Map<string, number>();
  readonly #confirmed = new Map<string, { second: number; signatures: Set<string> }>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * Runs one look-up for all requests that come while it is in flight. Runs none for 5 s after a look-up that found nothing new.
   *
   * @param whose      the appid and the address that the look-up is for
   * @param answerBy   when this request stops waiting for another request's look-up
   * @param cachedNews returns what another request has found meanwhile; undefined when there is nothing new
   * @param lookUpNews runs the look-up; undefined when it finds nothing new
   */
  async once<T>(
    whose: string,
    answerBy: number,
    cachedNews: () => T | undefined,
    lookUpNews: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    while (this.#isInFlight(whose) && this.#runtime.elapsed() < answerBy) await sleep(this.#runtime, IN_FLIGHT_POLL_MS);
    const meanwhile = cachedNews();
    if (meanwhile !== undefined) return meanwhile;
    if (this.#isInNegativeCache(whose)) return undefined;
    remember(this.#inFlight, whose, this.#runtime.now() + IN_FLIGHT_MS);
    try {
      const news = await lookUpNews();
      if (news !== undefined) return news;
    } finally {
      this.#inFlight.delete(whose);
    }
    remember(this.#foundNothingAt, whose, this.#runtime.now());
    return undefined;
  }

  /**
   * Whether D1 may be asked to confirm an app: once a second for one signature, ten times a second for one app. A permitted call is
   * counted.
   */
  mayConfirm(appid: string, signature: string): boolean {
    const digits = signature.toLowerCase();
    const second = Math.floor(this.#runtime.now() / 1000);
    const counted = this.#confirmed.get(appid);
    const signatures = counted?.second === second ? counted.signatures : new Set<string>();
    if (signatures.has(digits) || signatures.size >= CONFIRMATIONS_PER_SECOND) return false;
    // The call is counted before D1 answers, so that simultaneous requests cause one read.
    remember(this.#confirmed, appid, { second, signatures: signatures.add(digits) });
    return true;
  }

  #isInFlight(whose: string): boolean {
    return (this.#inFlight.get(whose) ?? 0) > this.#runtime.now();
  }

  #isInNegativeCache(whose: string): boolean {
    return this.#runtime.now() < (this.#foundNothingAt.get(whose) ?? 0) + NEGATIVE_CACHE_MS;
  }
}
