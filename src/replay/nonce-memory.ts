import type { Runtime } from "../runtime.ts";

/** What one isolate remembers of used ranstr, so that a replay it has seen costs neither KV nor D1 anything. */

/** About 1 MB with ranstr of a usual length, 4 MB with the longest; there are two of these. */
const MOST = 5_000;

/**
 * Used ranstr, each for as long as its caller says: the last 5,000 at least, 10,000 at the most. Only a help, like KV: what is not in
 * here is looked up. In two halves, because a Map that drops its oldest entry at each new one walks over what it dropped before.
 */
export class NonceMemory {
  readonly #runtime: Pick<Runtime, "now">;
  #newer = new Map<string, number>();
  #older = new Map<string, number>();
  /** Those that a request of this isolate is asking D1 about. */
  readonly #underWay = new Set<string>();

  constructor(runtime: Pick<Runtime, "now">) {
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

  isUnderWay(appid: string, ranstr: string): boolean {
    return this.#underWay.has(name(appid, ranstr));
  }

  /** From here on it is under way, until the function that comes back is called. */
  begin(appid: string, ranstr: string): () => void {
    // Requests that were cut off never end theirs.
    if (this.#underWay.size >= MOST) this.#underWay.clear();
    const key = name(appid, ranstr);
    this.#underWay.add(key);
    return () => void this.#underWay.delete(key);
  }
}

/** No appid holds a NUL: issued ones are of `A-Za-z0-9_-`. */
const name = (appid: string, ranstr: string) => `${appid}\0${ranstr}`;
