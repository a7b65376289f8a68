/**
 * Runs in workerd. A rate limit as the platform has it: a counter beside the isolate, no network. The local simulation is a call to
 * a Durable Object, which costs more than the request and would be what is measured.
 */
export class CounterLimit {
  readonly #counts = new Map<string, number>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  async limit({ key }: RateLimitOptions): Promise<RateLimitOutcome> {
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return { success: count <= this.#most };
  }
}

/** The limits of wrangler.toml, so high that no measurement meets them. */
export const countingLimits = () => ({
  APP_LIMIT: new CounterLimit(1e9),
  SITE_LIMIT: new CounterLimit(1e9),
  CLIENT_LIMIT: new CounterLimit(1e9),
});
