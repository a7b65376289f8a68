/** A limit that lets `most` pass for each key, and remembers what it was asked. */
export class Counted implements RateLimit {
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
