import { type Runtime, withinTime } from "./runtime.ts";

/** A limiter answers without a network wait; one that takes longer than this, under any load, has failed. */
const TIMEOUT_MS = 500;

/** Seconds after which a limited client may try again: the periods in wrangler.toml. */
export const APP_LIMIT_PERIOD = 10;
export const CLIENT_LIMIT_PERIOD = 60;

/** How many limits that are passed an isolate keeps in mind. */
const MOST = 10_000;

/**
 * What a client's failures are counted as, each under a name of its own: whoever uses one up has the others left.
 * `signed`: a signed call whose signature did not verify. `unknown`: one of these whose appid nobody knew.
 * `operator`: a wrong admin token.
 */
export type Failure = "signed" | "unknown" | "operator";

/** The name under which a client's failures of one kind are counted. */
export const failureKey = (failure: Failure, client: string): string => `${failure} ${client}`;

/** True while a limit is not exceeded. A limit that is not bound, fails or hangs limits nobody: it protects, it does not decide. */
export async function withinRate(runtime: Runtime, limit: RateLimit | undefined, key: string): Promise<boolean> {
  if (limit === undefined) return true;
  try {
    return await withinTime(
      runtime,
      TIMEOUT_MS,
      async () => (await limit.limit({ key })).success,
      () => true,
    );
  } catch {
    return true;
  }
}

/**
 * The limits that are known here to be passed. A rate-limit binding only counts and cannot be asked beforehand, so what has been
 * passed is kept in mind for a while: it is looked up before work is done, and counted after it is known what the work was for.
 */
export class PassedLimits {
  readonly #runtime: Runtime;
  readonly #until = new Map<string, number>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  isPassed(key: string): boolean {
    return (this.#until.get(key) ?? 0) > this.#runtime.now();
  }

  /**
   * Counts one; true while the limit is not passed.
   *
   * @param seconds how long {@link isPassed} says so once it is
   */
  async count(limit: RateLimit | undefined, key: string, seconds: number): Promise<boolean> {
    if (await withinRate(this.#runtime, limit, key)) return true;
    this.#until.delete(key);
    this.#until.set(key, this.#runtime.now() + seconds * 1000);
    for (const oldest of this.#until.keys()) {
      if (this.#until.size <= MOST) break;
      this.#until.delete(oldest);
    }
    return false;
  }
}
