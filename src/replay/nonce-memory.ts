/** What one isolate remembers of used ranstr, so that a replay it has seen costs neither KV nor D1 anything. */

/** About 2 MB with ranstr of a usual length, 8 MB with the longest. */
const MOST = 10_000;

/**
 * Used ranstr, each until it may be used again; the oldest go when there are too many. Only a help, like KV: what is not in here
 * is looked up.
 */
export class NonceMemory {
  readonly #now: () => number;
  readonly #used = new Map<string, number>();

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  has(appid: string, ranstr: string): boolean {
    const expiresAt = this.#used.get(name(appid, ranstr));
    return expiresAt !== undefined && expiresAt * 1000 > this.#now();
  }

  /** @param expiresAt Unix seconds */
  add(appid: string, ranstr: string, expiresAt: number): void {
    this.#used.set(name(appid, ranstr), expiresAt);
    for (const oldest of this.#used.keys()) {
      if (this.#used.size <= MOST) break;
      this.#used.delete(oldest);
    }
  }
}

/** No appid holds a NUL: issued ones are of `A-Za-z0-9_-`. */
const name = (appid: string, ranstr: string) => `${appid}\0${ranstr}`;
