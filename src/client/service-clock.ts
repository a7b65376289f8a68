import { blamesTheTime, clockOf, type WireAnswer } from "./read-answer.ts";

/** Seconds. A time farther away is ignored, so that a forged answer cannot make the client sign for another year. */
const FARTHEST_OFFSET = 86_400;

/** Unix seconds. */
export const machineClock = (): number => Math.floor(Date.now() / 1000);

/** The difference between the service's clock and this machine's, learned from refusals. */
export class ServiceClock {
  #offset = 0;

  /** Seconds to add to {@link machineClock}. */
  get offset(): number {
    return this.#offset;
  }

  /** Learns the time from the refusal of a timestamp. @returns false when the answer has no time, or a time too far away */
  take(answer: WireAnswer): boolean {
    const serviceTime = clockOf(answer);
    if (serviceTime === undefined) return false;
    const offset = serviceTime - machineClock();
    if (Math.abs(offset) > FARTHEST_OFFSET) return false;
    this.#offset = offset;
    return true;
  }

  /** Forgets `offset` when a try with it was refused because of its time. An offset that another call learned meanwhile stays. */
  doubt(answer: WireAnswer, offset: number): void {
    if (this.#offset === offset && blamesTheTime(answer)) this.#offset = 0;
  }
}
