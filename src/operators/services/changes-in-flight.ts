import type { Runtime } from "../../core/runtime.ts";
import { WHOLE_LIMIT_MS } from "../../core/store/run-batch.ts";

/** How many changes one token has in flight in an isolate at most. */
export const MOST_CHANGES_IN_FLIGHT = 4;

/**
 * The changes of tokens that are in flight in this isolate. Each ends by itself after the longest time that a call may take: when a
 * client goes away, the platform may drop its call, and then nothing says that it has ended.
 */
export class ChangesInFlight {
  readonly #runtime: Runtime;
  readonly #changes = new Map<string, { tokenId: string; until: number }>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** @returns false, and begins nothing, while the token has {@link MOST_CHANGES_IN_FLIGHT} */
  begin(tokenId: string, requestId: string): boolean {
    const now = this.#runtime.now();
    let inFlight = 0;
    for (const [id, change] of this.#changes) {
      if (change.until <= now) this.#changes.delete(id);
      else if (change.tokenId === tokenId) inFlight++;
    }
    if (inFlight >= MOST_CHANGES_IN_FLIGHT) return false;
    this.#changes.set(requestId, { tokenId, until: now + WHOLE_LIMIT_MS });
    return true;
  }

  /** Does nothing for a call that has begun no change. */
  end(requestId: string): void {
    this.#changes.delete(requestId);
  }
}
