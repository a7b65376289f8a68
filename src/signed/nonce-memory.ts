import type { Runtime } from "../runtime.ts";

/** Entries in each of the two halves. One half takes about 1 MB with ranstr of a usual length, 4 MB with the longest. */
const MOST = 5_000;

/**
 * The used ranstr that this isolate knows, so that their replays cost no call of KV or D1. Holds the last 5,000 at least, 10,000 at
 * most; D1 decides about all others. Two Maps, because one Map that deletes its oldest entry at each new one becomes slow:
 * to find its oldest entry it walks over the places of those deleted before.
 */
export class NonceMemory {
  readonly #runtime: Pick<Runtime, "now" | "elapsed">;
  #newer = new Map<string, number>();
  #older = new Map<string, number>();
  /** The ranstr of requests of this isolate that wait for D1, each with the mark of its request. */
  readonly #inFlight = new Map<string, { until: number }>();

  constructor(runtime: Pick<Runtime, "now" | "elapsed">) {
    this.#runtime = runtime;
  }

  has(appid: string, ranstr: string): boolean {
    const key = name(appid, ranstr);
    const expiresAt = this.#newer.get(key) ?? this.#older.get(key);
    return expiresAt !== undefined && expiresAt * 1000 > this.#runtime.now();
  }

  /** @param expiresAt Unix seconds */
  add(appid: string, ranstr: string, expiresAt: number): void {
    if (this.#newer.size >= MOST) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(name(appid, ranstr), expiresAt);
  }

  isInFlight(appid: string, ranstr: string): boolean {
    const mark = this.#inFlight.get(name(appid, ranstr));
    return mark !== undefined && mark.until > this.#runtime.elapsed();
  }

  /**
   * Marks a ranstr as in flight, unless another request's mark stands: that one is left alone.
   *
   * @param until when the request gives up, in milliseconds of the runtime's `elapsed`: a request that is cut off never ends its mark
   * @returns the function that ends the mark, and no other one
   */
  begin(appid: string, ranstr: string, until: number): () => void {
    if (this.isInFlight(appid, ranstr)) return () => {};
    if (this.#inFlight.size >= MOST) this.#inFlight.clear();
    const key = name(appid, ranstr);
    const mark = { until };
    this.#inFlight.set(key, mark);
    return () => {
      if (this.#inFlight.get(key) === mark) this.#inFlight.delete(key);
    };
  }
}

/** NUL separates the two without ambiguity: an appid consists of `A-Za-z0-9_-`. */
const name = (appid: string, ranstr: string) => `${appid}\0${ranstr}`;
