import { runAs } from "../../machine/scheduler.ts";
import type { Call } from "../call.ts";
import type { Internet } from "../receivers/internet.ts";
import { type Air, strikes } from "./air.ts";
import type { Witness } from "./witness.ts";

/** How long work may go on after a handler has returned, in milliseconds. */
const LEFT_OVER_MS = 30_000;

/** How calls live and end in their isolates. */
export class Lives {
  readonly #air: Air;
  readonly #cutOff: number;
  readonly #internet: Internet;
  /** What tells those who wait for a call that it has been ended. */
  readonly #ended = new Map<Call, () => void>();

  /** @param cutOff share of calls that are cut off at one of their awaits */
  constructor(air: Air, cutOff: number, internet: Internet) {
    this.#air = air;
    this.#cutOff = cutOff;
    this.#internet = internet;
  }

  /** Runs a call's work; resolves when it has ended or was ended. */
  during(call: Call, work: () => Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const ended = () => {
        this.#ended.delete(call);
        resolve();
      };
      this.#ended.set(call, ended);
      void runAs(call, work).then(ended, (error: unknown) => {
        this.#air.witness.fails(call, error);
        ended();
      });
    });
  }

  /** Nothing of a call is ever heard again. */
  end(call: Call): void {
    const isOver = call.answeredAt !== undefined && call.leftOver === 0;
    call.alive = false;
    this.#ended.get(call)?.();
    call.faults.push("ended");
    this.#internet.end(call);
    if (!isOver) this.#air.witness.ends(call);
  }

  maybeCutOff(call: Call): void {
    const { scheduler, chance, witness } = this.#air;
    if (!strikes(this.#air, this.#cutOff)) return;
    // Often while it looks the app up, which only a cold isolate does; now and then in a later try, or after the answer.
    scheduler.after(chance.between(0, chance.one([10, 60, 5_000])), () => {
      if (!call.alive) return;
      witness.note(call, "cut off");
      this.end(call);
    });
  }

  /** Ends what a call has left to waitUntil, when its time is over. */
  endLeftOver(call: Call): void {
    if (call.leftOver === 0) return;
    this.#air.scheduler.after(LEFT_OVER_MS, () => {
      if (!call.alive || call.leftOver === 0) return;
      this.#air.witness.note(call, "has left too much to waitUntil", "waitUntil cut off");
      this.end(call);
    });
  }
}

/** The context that a handler gets. */
export const contextOf = (call: Call, witness: Witness): object => ({
  waitUntil: (work: Promise<unknown>) => {
    call.leftOver++;
    work
      .catch((error: unknown) => witness.fails(call, error))
      .finally(() => {
        call.leftOver--;
      });
  },
  passThroughOnException: () => {},
  props: {},
});
