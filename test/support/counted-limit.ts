/** A rate limiter that lets `most` requests pass for each key, and records the keys. */
export class CountedLimit implements RateLimit {
  readonly keys: string[] = [];
  readonly #counts = new Map<string, number>();
  most: number;

  constructor(most: number) {
    this.most = most;
  }

  async limit({ key = "" }: { key?: string }): Promise<{ success: boolean }> {
    this.keys.push(key);
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return { success: count <= this.most };
  }
}
