import type { Runtime } from "../runtime.ts";

/** Workers lets six calls of an invocation wait for an answer and queues the others. */
const AT_ONCE = 6;

/** The most homes of an invocation: each needs a place. */
export const MOST_HOMES = AT_ONCE;

/** Workers allows 50 calls of one invocation on the free plan: posts, batches of D1, and messages to the queue. Some are left for the last. */
const MOST_CALLS = 46;

/** The post, the batch that records its result, and the message that tells the queue of the next attempt. */
const CALLS_OF_AN_ATTEMPT = 3;

/** The batch and the message of the next turn: no attempt may take them. */
const CALLS_OF_A_TURN = 2;

/** So long an invocation begins attempts. The last of them ends, and its result is recorded, before Workers stops what goes on in `waitUntil`. */
const BEGINNING_MS = 8_000;

/** How many attempts one home of an invocation may begin, shared fairly between its webhooks: one that hangs takes few places of the others. */
export class Budget {
  readonly #runtime: Pick<Runtime, "elapsed">;
  readonly #until: number;
  readonly #places: number;
  #free: number;
  #calls: number;
  #webhooks: number;

  /**
   * @param homes    how many homes share what the invocation may do; at most {@link MOST_HOMES}
   * @param webhooks of this home
   */
  constructor(runtime: Pick<Runtime, "elapsed">, homes: number, webhooks: number) {
    this.#runtime = runtime;
    this.#until = runtime.elapsed() + BEGINNING_MS;
    this.#places = this.#free = Math.floor(AT_ONCE / homes);
    this.#calls = Math.floor(MOST_CALLS / homes);
    this.#webhooks = webhooks;
  }

  /** For how long attempts may begin, in milliseconds. */
  get timeLeft(): number {
    return Math.max(0, this.#until - this.#runtime.elapsed());
  }

  /** Whether no attempt may begin any more. */
  get isUsedUp(): boolean {
    return this.#calls < CALLS_OF_AN_ATTEMPT + CALLS_OF_A_TURN || this.timeLeft === 0;
  }

  /** Whether an attempt may begin now. */
  get hasPlace(): boolean {
    return this.#free > 0 && !this.isUsedUp;
  }

  /**
   * Takes places for a webhook that has some attempts in flight. A call of the database goes on in the place of an attempt that has
   * ended, so both together never exceed the limit.
   */
  take(inFlight: number): number {
    if (this.isUsedUp) return 0;
    const share = Math.max(1, Math.floor(this.#places / this.#webhooks));
    const taken = Math.max(
      0,
      Math.min(share - inFlight, this.#free, Math.floor((this.#calls - CALLS_OF_A_TURN) / CALLS_OF_AN_ATTEMPT)),
    );
    this.#free -= taken;
    this.#calls -= CALLS_OF_AN_ATTEMPT * taken;
    return taken;
  }

  /** Gives back places in which no attempt was begun. */
  giveBack(places: number): void {
    this.#free += places;
    this.#calls += CALLS_OF_AN_ATTEMPT * places;
  }

  /** One batch of D1, or one call that tells the queue. */
  call(): void {
    this.#calls -= 1;
  }

  /** An attempt has ended: what is called for several of them at once is paid once. */
  end(): void {
    this.#free += 1;
    this.#calls += CALLS_OF_AN_ATTEMPT - 1;
  }

  /** A webhook needs no more: the others share its part. */
  leave(): void {
    this.#webhooks -= 1;
  }
}
