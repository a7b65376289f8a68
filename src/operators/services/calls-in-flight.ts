import type { Runtime } from "../../core/runtime.ts";
import { WHOLE_LIMIT_MS } from "../../core/store/run-batch.ts";

/**
 * The calls of tokens that are in flight in this isolate. Each ends by itself after the longest time that a call may take: when a
 * client goes away, the platform may drop its call, and then nothing says that it has ended.
 */
export class CallsInFlight {
  readonly #runtime: Runtime;
  readonly #calls = new Map<string, { key: string; until: number }>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** @returns false, and begins nothing, while `most` calls of this key are in flight */
  begin(key: string, most: number, requestId: string): boolean {
    const now = this.#runtime.now();
    let inFlight = 0;
    for (const [id, call] of this.#calls) {
      if (call.until <= now) this.#calls.delete(id);
      else if (call.key === key) inFlight++;
    }
    if (inFlight >= most) return false;
    this.#calls.set(requestId, { key, until: now + WHOLE_LIMIT_MS });
    return true;
  }

  /** Does nothing for a call that has not begun. */
  end(requestId: string): void {
    this.#calls.delete(requestId);
  }
}
