import type { Runtime } from "../runtime.ts";

/** The most entries of each of the two Maps. One Map takes about 1 MB with usual ranstr, 4 MB with the longest. */
const MOST_NONCES = 5_000;

/**
 * The used ranstr that this isolate knows: the last 5,000 to 10,000. Their replays cost no call of KV or D1. D1 decides about all other
 * ranstr. There are two Maps, because deleting the oldest entry of one Map again and again gets slow: finding it means stepping over all
 * earlier deletions.
 */
export class NonceMemory {
  readonly #runtime: Pick<Runtime, "now" | "elapsed">;
  #newer = new Map<string, number>();
  #older = new Map<string, number>();
  /** The ranstr of this isolate's requests that wait for D1. The object identifies the request that set the mark. */
  readonly #inFlight = new Map<string, { until: number }>();

  constructor(runtime: Pick<Runtime, "now" | "elapsed">) {
    this.#runtime = runtime;
  }

  has(appid: string, ranstr: string): boolean {
    const key = nonceKey(appid, ranstr);
    const expiresAt = this.#newer.get(key) ?? this.#older.get(key);
    return expiresAt !== undefined && expiresAt * 1000 > this.#runtime.now();
  }

  /** @param expiresAt Unix seconds */
  add(appid: string, ranstr: string, expiresAt: number): void {
    if (this.#newer.size >= MOST_NONCES) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(nonceKey(appid, ranstr), expiresAt);
  }

  isInFlight(appid: string, ranstr: string): boolean {
    const mark = this.#inFlight.get(nonceKey(appid, ranstr));
    return mark !== undefined && mark.until > this.#runtime.elapsed();
  }

  /**
   * Marks a ranstr as in flight. Does nothing while another request's mark stands.
   *
   * @param until when the mark ends by itself, in milliseconds of the runtime's `elapsed`: the platform may cut the request off
   *   before it ends its mark
   * @returns a function that ends this mark, but not the mark of another request
   */
  begin(appid: string, ranstr: string, until: number): () => void {
    if (this.isInFlight(appid, ranstr)) return () => {};
    if (this.#inFlight.size >= MOST_NONCES) this.#inFlight.clear();
    const key = nonceKey(appid, ranstr);
    const mark = { until };
    this.#inFlight.set(key, mark);
    return () => {
      if (this.#inFlight.get(key) === mark) this.#inFlight.delete(key);
    };
  }
}

/** NUL keeps the key unambiguous: an appid has only `A-Za-z0-9_-`. */
const nonceKey = (appid: string, ranstr: string) => `${appid}\0${ranstr}`;
