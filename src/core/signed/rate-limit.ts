import { type Runtime, withinTime } from "../runtime.ts";

/** A rate-limit binding answers without network, so a slower answer counts as a failure of the binding. */
const TIMEOUT_MS = 500;

/**
 * Seconds until a limited caller may try again. They equal the periods in wrangler.toml: the first is for apps, sites and
 * tokens, the second for clients.
 */
export const LIMIT_PERIOD = 10;
export const CLIENT_LIMIT_PERIOD = 60;

/** How many exceeded limits an isolate remembers. */
const MOST_EXCEEDED = 10_000;

/**
 * The kinds of a client's failures. Each kind has its own count, so that an exceeded limit of one kind leaves the others open.
 * - `signed`: a signed call whose signature was not valid, for any reason;
 * - `unknown`: a signed call with an appid that does not exist; it counts as `signed` too;
 * - `operator`: a wrong token of an operator or a person, or a visit to the console that lets nobody in.
 */
type FailureKind = "signed" | "unknown" | "operator";

/** The key that a client's failures of one kind are counted under. */
export const failureKey = (failure: FailureKind, client: string): string => `${failure} ${client}`;

/** Counts one call; true while the limit is not exceeded. Also true when the limit is not bound or fails. */
async function isOverLimit(limit: RateLimit | undefined, key: string): Promise<boolean> {
  try {
    return limit === undefined || (await limit.limit({ key })).success;
  } catch {
    return true;
  }
}

/**
 * The limits that this isolate knows to be exceeded. A rate-limit binding cannot be asked without counting, and a request is
 * counted only at its end. So an exceeded limit is remembered for some time, and the next requests are refused before any work.
 */
export class ExceededLimits {
  readonly #runtime: Runtime;
  readonly #until = new Map<string, number>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  isExceeded(key: string): boolean {
    return (this.#until.get(key) ?? 0) > this.#runtime.now();
  }

  /**
   * Counts one call; true while the limit is not exceeded. Also true when the limit is not bound, fails or hangs.
   *
   * @param seconds how long {@link isExceeded} stays true after the limit was exceeded
   */
  count(limit: RateLimit | undefined, key: string, seconds: number): Promise<boolean> {
    const count = () => this.countLater(limit, key, seconds);
    return withinTime(this.#runtime, TIMEOUT_MS, count, () => true);
  }

  /** {@link count} for `waitUntil`. No caller waits for it, so it needs no timer. The platform ends it when the limit hangs. */
  async countLater(limit: RateLimit | undefined, key: string, seconds: number): Promise<boolean> {
    if (await isOverLimit(limit, key)) return true;
    this.#until.delete(key);
    this.#until.set(key, this.#runtime.now() + seconds * 1000);
    for (const oldest of this.#until.keys()) {
      if (this.#until.size <= MOST_EXCEEDED) break;
      this.#until.delete(oldest);
    }
    return false;
  }
}
