import type { Runtime } from "../runtime.ts";

/** Workers lets six calls of an invocation be in flight, and queues the others. */
const AT_ONCE = 6;

/** The most homes of an invocation: each home needs a place. */
export const MOST_HOMES = AT_ONCE;

/**
 * Workers Free allows 50 calls per invocation: posts, batches of D1, and messages to the queue. Four are kept for the last calls.
 */
const MOST_CALLS = 46;

/**
 * The calls of an attempt: the post, the batch that records its result, and the message that notifies the queue of the next
 * attempt.
 */
const CALLS_OF_AN_ATTEMPT = 3;

/** The calls of the next turn: a batch and a message. No attempt may take them. */
const CALLS_OF_A_TURN = 2;

/**
 * How long an invocation begins attempts. The last attempt must end, and its result be recorded, before Workers stops the work in
 * `waitUntil`.
 */
const BEGINNING_MS = 8_000;

/**
 * How many attempts one home of an invocation may begin. The places are shared fairly between the home's webhooks, so that a
 * webhook that hangs takes few of them.
 */
export class Budget {
  readonly #runtime: Pick<Runtime, "elapsed">;
  readonly #until: number;
  readonly #places: number;
  #free: number;
  #calls: number;
  #webhooks: number;

  /**
   * @param homes    the number of homes that share the invocation; at most {@link MOST_HOMES}
   * @param webhooks the number of this home's webhooks
   */
  constructor(runtime: Pick<Runtime, "elapsed">, homes: number, webhooks: number) {
    this.#runtime = runtime;
    this.#until = runtime.elapsed() + BEGINNING_MS;
    this.#places = this.#free = Math.floor(AT_ONCE / homes);
    this.#calls = Math.floor(MOST_CALLS / homes);
    this.#webhooks = webhooks;
  }

  /** How long attempts may still begin, in milliseconds. */
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
   * Takes places for new attempts of a webhook. A database call uses the place of an attempt that has ended, so attempts and calls
   * together never exceed the limit.
   *
   * @param inFlight how many attempts the webhook has in flight
   * @returns how many attempts may begin
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

  /** Gives back places that were taken but not used. */
  giveBack(places: number): void {
    this.#free += places;
    this.#calls += CALLS_OF_AN_ATTEMPT * places;
  }

  /** Counts one batch of D1, or one message to the queue. */
  call(): void {
    this.#calls -= 1;
  }

  /**
   * Frees the place of an attempt that has ended. Its other two calls are given back: they are counted when they are made, once for
   * several attempts.
   */
  end(): void {
    this.#free += 1;
    this.#calls += CALLS_OF_AN_ATTEMPT - 1;
  }

  /** Removes a webhook that needs no more places, so that the others share its part. */
  leave(): void {
    this.#webhooks -= 1;
  }
}
