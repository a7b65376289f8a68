import type { Internet } from "../../deliveries/acts/internet.ts";
import { runAs } from "../../machine/scheduler.ts";
import type { Call } from "../call.ts";
import { faultStrikes, type NetworkState } from "./air.ts";

/** Milliseconds that work may go on after a handler has returned. */
const LEFT_OVER_MS = 30_000;

export class Lives {
  readonly #air: NetworkState;
  readonly #cutOff: number;
  readonly #internet: Internet;
  /** Resolves the wait for a call when the call is ended early. */
  readonly #ends = new Map<Call, () => void>();
  /** Cancels the timer that ends a call's work after its answer. */
  readonly #timeUp = new Map<Call, () => void>();

  /** @param cutOff share of calls that are cut off at one of their awaits */
  constructor(air: NetworkState, cutOff: number, internet: Internet) {
    this.#air = air;
    this.#cutOff = cutOff;
    this.#internet = internet;
  }

  /** Runs a call's work. Resolves when it has ended, by itself or by force. */
  during(call: Call, work: () => Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        this.#ends.delete(call);
        resolve();
      };
      this.#ends.set(call, finish);
      void runAs(call, work).then(finish, (error: unknown) => {
        this.#air.witness.fails(call, error);
        finish();
      });
    });
  }

  /** Ends a call: no answer reaches or leaves it any more. */
  end(call: Call): void {
    call.alive = false;
    this.#forget(call);
    this.#ends.get(call)?.();
    call.faults.push("ended");
    this.#internet.end(call);
    this.#air.witness.ends(call);
  }

  maybeCutOff(call: Call): void {
    const { scheduler, chance } = this.#air;
    if (!faultStrikes(this.#air, this.#cutOff)) return;
    // The end often hits the look-up of the app, which only a cold isolate does, and sometimes a retry or later work.
    scheduler.after(chance.between(0, chance.one([10, 60, 5_000])), () => {
      this.cutOff(call);
    });
  }

  /** Ends a call, as the platform cuts off a request. */
  cutOff(call: Call): void {
    if (!call.alive) return;
    this.#air.witness.note(call, "cut off");
    this.end(call);
  }

  /** Notes that a handler has returned. Its waitUntil work gets some more time, and all other work is dropped. */
  noteAnswer(call: Call): void {
    if (!call.alive) return;
    const timeUp = () => {
      this.#air.witness.note(call, "has left too much to waitUntil", "waitUntil cut off");
      this.end(call);
    };
    this.#timeUp.set(call, this.#air.scheduler.after(LEFT_OVER_MS, timeUp));
    this.#endWhenOver(call);
  }

  /** The `ctx` argument of a handler. */
  contextOf(call: Call): object {
    return {
      waitUntil: (work: Promise<unknown>) => {
        call.leftOverCount++;
        work
          .catch((error: unknown) => this.#air.witness.fails(call, error))
          .finally(() => {
            call.leftOverCount--;
            if (this.#timeUp.has(call)) this.#endWhenOver(call);
          });
      },
      passThroughOnException: () => {},
      props: {},
    };
  }

  /**
   * Ends a call when it has no more waitUntil work. Work that has just ended may register more work in the same turn.
   */
  #endWhenOver(call: Call): void {
    if (call.leftOverCount > 0) return;
    this.#air.scheduler.atRest(() => {
      if (!call.alive || call.leftOverCount > 0) return;
      call.alive = false;
      call.isOver = true;
      this.#forget(call);
      this.#air.witness.isOver(call);
      this.#internet.end(call);
    });
  }

  #forget(call: Call): void {
    this.#timeUp.get(call)?.();
    this.#timeUp.delete(call);
  }
}
