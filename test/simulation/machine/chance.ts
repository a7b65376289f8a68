import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** Random numbers from a seed: the same seed gives the same draws in the same order. */
export class Chance {
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed);
    // Close seeds give close first numbers, so the first numbers are dropped.
    for (let i = 0; i < 16; i++) this.#generator.next();
  }

  /** A number from 0 (included) to 1 (excluded). */
  number(): number {
    return (this.#generator.next() >>> 0) / 2 ** 32;
  }

  /** A number from `least` (included) to `most` (excluded). */
  between(least: number, most: number): number {
    return least + this.number() * (most - least);
  }

  /** An integer from `least` to `most`, both included. */
  integer(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  /** True with probability `share`. */
  happens(share: number): boolean {
    return this.number() < share;
  }

  one<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error("there is nothing to choose from");
    return list[Math.floor(this.number() * list.length)] as T;
  }

  /** One of the names, with a probability by its weight. */
  weighted<Name extends string>(weights: Partial<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.number() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new Error("no weight is above 0");
  }

  /** A random part of a list in its order. Each item is in it with probability `share`. */
  some<T>(list: readonly T[], share = 0.5): T[] {
    return list.filter(() => this.happens(share));
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.#generator.next() & 255);
  }

  /** A UUID in the form of `crypto.randomUUID()`. */
  uuid(): `${string}-${string}-${string}-${string}-${string}` {
    const hex = Buffer.from(this.bytes(16)).toString("hex");
    const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
  }

  /** An independent source of random numbers, so that its draws do not change the draws of this one. */
  fork(): Chance {
    return new Chance(this.#generator.next() | 0);
  }
}
