import { runAs } from "../../machine/scheduler.ts";
import type { Call } from "../call.ts";
import type { Internet } from "../receivers/internet.ts";
import { type Air, strikes } from "./air.ts";

/** How long work may go on after a handler has returned, in milliseconds. */
const LEFT_OVER_MS = 30_000;

/** How calls live and end in their isolates. */
export class Lives {
  readonly #air: Air;
  readonly #cutOff: number;
  readonly #internet: Internet;
  /** What tells those who wait for a call that it has been ended. */
  readonly #ended = new Map<Call, () => void>();
  /** What calls off the end of the time that a call has after its answer. */
  readonly #timeUp = new Map<Call, () => void>();

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
    call.alive = false;
    this.#forget(call);
    this.#ended.get(call)?.();
    call.faults.push("ended");
    this.#internet.end(call);
    this.#air.witness.ends(call);
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

  /** A handler has returned. What it has registered with waitUntil has some time more; nothing else goes on. */
  answered(call: Call): void {
    if (!call.alive) return;
    const timeUp = () => {
      this.#air.witness.note(call, "has left too much to waitUntil", "waitUntil cut off");
      this.end(call);
    };
    this.#timeUp.set(call, this.#air.scheduler.after(LEFT_OVER_MS, timeUp));
    this.#endWhenOver(call);
  }

  /** The context that a handler gets. */
  contextOf(call: Call): object {
    return {
      waitUntil: (work: Promise<unknown>) => {
        call.leftOver++;
        work
          .catch((error: unknown) => this.#air.witness.fails(call, error))
          .finally(() => {
            call.leftOver--;
            if (this.#timeUp.has(call)) this.#endWhenOver(call);
          });
      },
      passThroughOnException: () => {},
      props: {},
    };
  }

  /** What has ended may have registered more work, or be about to. */
  #endWhenOver(call: Call): void {
    if (call.leftOver > 0) return;
    this.#air.scheduler.atRest(() => {
      if (!call.alive || call.leftOver > 0) return;
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
