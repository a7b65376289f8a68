import { ServiceError } from "../errors.ts";
import { type Runtime, sleep } from "../runtime.ts";
import { remember } from "./remember.ts";

/** How long one turn lasts, in milliseconds: there are five in a second. */
const TURN_MS = 200;
/** A request waits for at most this many turns. */
const MOST_TURNS = 5;
/** `Retry-After` of the 429 for a request that got no turn. */
export const TURN_RETRY_SECONDS = 1;

/**
 * Limits the look-ups in D1 for an address with too many failed look-ups: an isolate permits five a second. At the end of each turn one
 * of the waiting names is drawn at random. All names have the same chance, however many requests wait for a name. Names that were
 * refused before go first, because an honest caller comes back and few made-up names do.
 */
export class LookUpTurns {
  readonly #runtime: Runtime;
  /** The names that wait in this turn. Each function returns what another request has found meanwhile. */
  readonly #waiting = new Map<string, () => unknown>();
  readonly #refused = new Map<string, true>();
  /** The turn of the last draw, and the drawn name until its look-up begins. */
  #drawn: { turn: number; name: string | undefined } = { turn: 0, name: undefined };

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * Waits until the caller may look a name up once.
   *
   * @param name   such as an appid
   * @param cached returns what another request has found meanwhile; undefined when there is nothing
   * @returns what `cached` returned; undefined when it is the caller's turn
   * @throws ServiceError `too_many_requests` after five turns in which the name was not drawn
   */
  async wait<T>(name: string, cached: () => T | undefined): Promise<T | undefined> {
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      this.#waiting.set(name, cached);
      await sleep(this.#runtime, TURN_MS - (this.#runtime.elapsed() % TURN_MS));
      const foundMeanwhile = cached();
      if (foundMeanwhile !== undefined) return foundMeanwhile;
      this.#draw();
      if (this.#drawn.name !== name) continue;
      this.#drawn.name = undefined;
      this.#refused.delete(name);
      return undefined;
    }
    remember(this.#refused, name, true);
    throw new ServiceError("too_many_requests", { reason: "client_limit", retryAfter: TURN_RETRY_SECONDS });
  }

  /** Draws once after each turn: the first request that wakes draws for all. */
  #draw(): void {
    const turn = Math.floor(this.#runtime.elapsed() / TURN_MS);
    if (turn === this.#drawn.turn) return;
    const waiting = [...this.#waiting].filter(([, cached]) => cached() === undefined).map(([name]) => name);
    const returned = waiting.filter((name) => this.#refused.has(name));
    const names = returned.length > 0 ? returned : waiting;
    this.#drawn = { turn, name: names[Math.floor(this.#runtime.random() * names.length)] };
    this.#waiting.clear();
  }
}
