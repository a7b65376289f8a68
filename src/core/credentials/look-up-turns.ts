import { ServiceError } from "../errors.ts";
import { type Runtime, sleep } from "../runtime.ts";

/** How long one turn lasts, in milliseconds: five in a second. */
const TURN_MS = 200;
/** How long a request waits for a turn: its caller gets five chances. */
const WAIT_MS = 1_000;

/**
 * The turns at D1 of callers whose address is over its limit of failed look-ups: five a second in an isolate. At the end of each turn
 * one of the names that wait is drawn. A name counts once, however many requests wait for it, so an honest caller has as good a
 * chance as each made-up name.
 */
export class LookUpTurns {
  readonly #runtime: Runtime;
  /** The names that wait in this turn. */
  readonly #waiting = new Set<string>();
  /** The number of the turn that was drawn last, and the name that may be looked up. */
  #drawn: { turn: number; name: string | undefined } = { turn: 0, name: undefined };

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * Waits until the caller may look a name up, once.
   *
   * @param name     such as an appid
   * @param cached   what another request has found meanwhile; undefined when there is nothing
   * @returns what `cached` returned; undefined when it is the caller's turn
   * @throws ServiceError `too_many_requests` after 1 s without a turn
   */
  async wait<T>(name: string, cached: () => T | undefined): Promise<T | undefined> {
    const until = this.#now() + WAIT_MS;
    while (this.#now() < until) {
      this.#waiting.add(name);
      await sleep(this.#runtime, TURN_MS - (this.#now() % TURN_MS));
      const found = cached();
      if (found !== undefined) return found;
      this.#draw();
      if (this.#drawn.name !== name) continue;
      this.#drawn.name = undefined;
      return undefined;
    }
    throw new ServiceError("too_many_requests", { reason: "client_limit", retryAfter: WAIT_MS / 1000 });
  }

  /** Draws once when a turn has ended: the first request that wakes does it for all. */
  #draw(): void {
    const turn = Math.floor(this.#now() / TURN_MS);
    if (turn === this.#drawn.turn) return;
    const names = [...this.#waiting];
    this.#drawn = { turn, name: names[Math.floor(this.#runtime.random() * names.length)] };
    this.#waiting.clear();
  }

  #now(): number {
    return this.#runtime.elapsed();
  }
}
