import type { Runtime } from "../runtime.ts";

/** Entries in each of the two halves. One half takes about 1 MB with ranstr of a usual length, 4 MB with the longest. */
const MOST = 5_000;

/**
 * The used ranstr that this isolate knows, so that their replays cost no call of KV or D1. Holds the last 5,000 at least, 10,000 at
 * most; D1 decides about all others. Two Maps, because one Map that deletes its oldest entry at each new one becomes slow:
 * to find its oldest entry it walks over the places of those deleted before.
 */
export class NonceMemory {
  readonly #runtime: Pick<Runtime, "now">;
  #newer = new Map<string, number>();
  #older = new Map<string, number>();
  /** The ranstr of requests of this isolate that wait for D1. */
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

  /** Marks a ranstr as under way. @returns the function that ends it */
  begin(appid: string, ranstr: string): () => void {
    // A request that was cut off never ends its own.
    if (this.#underWay.size >= MOST) this.#underWay.clear();
    const key = name(appid, ranstr);
    this.#underWay.add(key);
    return () => void this.#underWay.delete(key);
  }
}

/** NUL separates the two without ambiguity: an appid consists of `A-Za-z0-9_-`. */
const name = (appid: string, ranstr: string) => `${appid}\0${ranstr}`;
