import { type Runtime, sleep } from "../runtime.ts";
import { TRY_LIMIT_MS } from "../store/run-batch.ts";
import { remember } from "./remember.ts";

/** A look-up that found nothing new is the last one of its appid and address for this long: otherwise forgers keep D1 busy. */
const NEGATIVE_CACHE_MS = 5_000;
/** A look-up in flight holds others back for one try of D1 at most, because a request that is cut off never ends its own. */
const IN_FLIGHT_MS = TRY_LIMIT_MS;
/** Polled, because Workers forbid a request to await the promise of another one. */
const IN_FLIGHT_POLL_MS = 5;
/** Confirmations of one app in a second: otherwise one captured request, sent again and again, keeps D1 busy. */
const CONFIRMATIONS_PER_SECOND = 10;

/**
 * What keeps callers whose signature fails, or whose request is refused anyway, from making this isolate ask D1 at will. Everything is
 * counted per appid and address, or per appid and signature, so that a forger delays nobody else.
 */
export class LookUpBounds {
  readonly #runtime: Runtime;
  /** When each look-up ended that found nothing new. */
  readonly #negative = new Map<string, number>();
  /** Until when each look-up in flight holds others back. */
  readonly #inFlight = new Map<string, number>();
  readonly #confirmed = new Map<string, { second: number; signatures: Set<string> }>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * Looks up once for all requests that come while it is in flight, and not at all for 5 s after one that found nothing new.
   *
   * @param whose    the appid and the address that are looked up for
   * @param answerBy when this request stops waiting for another one's look-up
   * @param heard    what another request has found meanwhile
   * @param look     undefined when it finds nothing new
   */
  async once<T>(
    whose: string,
    answerBy: number,
    heard: () => T | undefined,
    look: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    while (this.#isInFlight(whose) && this.#runtime.elapsed() < answerBy) await sleep(this.#runtime, IN_FLIGHT_POLL_MS);
    const meanwhile = heard();
    if (meanwhile !== undefined) return meanwhile;
    if (this.#isInNegativeCache(whose)) return undefined;
    remember(this.#inFlight, whose, this.#runtime.now() + IN_FLIGHT_MS);
    try {
      const found = await look();
      if (found !== undefined) return found;
    } finally {
      this.#inFlight.delete(whose);
    }
    remember(this.#negative, whose, this.#runtime.now());
    return undefined;
  }

  /** Whether D1 may confirm an app for this signature: once a second for one signature, ten times for one app. Counts it. */
  mayConfirm(appid: string, signature: string): boolean {
    const digits = signature.toLowerCase();
    const second = Math.floor(this.#runtime.now() / 1000);
    const counted = this.#confirmed.get(appid);
    const signatures = counted?.second === second ? counted.signatures : new Set<string>();
    if (signatures.has(digits) || signatures.size >= CONFIRMATIONS_PER_SECOND) return false;
    // Counted before D1 answers: requests at the same moment cause one read.
    remember(this.#confirmed, appid, { second, signatures: signatures.add(digits) });
    return true;
  }

  #isInFlight(whose: string): boolean {
    return (this.#inFlight.get(whose) ?? 0) > this.#runtime.now();
  }

  #isInNegativeCache(whose: string): boolean {
    return this.#runtime.now() < (this.#negative.get(whose) ?? 0) + NEGATIVE_CACHE_MS;
  }
}
