import { refuseIf, refuseOthers } from "../not-simulated.ts";
import { type CarryCall, carryAtOnce } from "./d1.ts";

/**
 * A rate limit of wrangler.toml. It counts in one location, in windows that are aligned to the epoch.
 * test/simulation/conformance runs one list of calls on it and on workerd's limits.
 */
export class SimulatedRateLimit {
  readonly #limit: number;
  readonly #periodMs: number;
  /** Milliseconds since the epoch. */
  readonly #now: () => number;
  readonly #carry: CarryCall;
  readonly #counts = new Map<string, number>();
  #window = 0;

  /** @param period seconds */
  constructor(
    { limit, period }: { limit: number; period: 10 | 60 },
    now: () => number,
    carry: CarryCall = carryAtOnce,
  ) {
    this.#limit = limit;
    this.#periodMs = period * 1000;
    this.#now = now;
    this.#carry = carry;
  }

  async limit({ key, ...others }: { key: string }): Promise<{ success: boolean }> {
    refuseIf(typeof key !== "string", "a limit without a key");
    refuseOthers("limit()", others);
    return this.#carry("limit", () => {
      const window = Math.floor(this.#now() / this.#periodMs);
      if (window !== this.#window) this.#counts.clear();
      this.#window = window;
      const calls = this.#counts.get(key) ?? 0;
      if (calls >= this.#limit) return { success: false };
      this.#counts.set(key, calls + 1);
      return { success: true };
    });
  }
}
