/**
 * Runs in workerd. A rate limit like the platform's: a counter near the isolate, without network. Miniflare's
 * simulation calls a Durable Object, which costs more than the request and would distort every measurement.
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

/** The limits of wrangler.toml, so high that no measurement reaches them. */
export const countingLimits = () => ({
  APP_LIMIT: new CounterLimit(1e9),
  SITE_LIMIT: new CounterLimit(1e9),
  CLIENT_LIMIT: new CounterLimit(1e9),
});
