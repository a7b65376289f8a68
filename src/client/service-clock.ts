import { blamesTheTime, clockOf, type WireAnswer } from "./read-answer.ts";

/** Seconds. A time farther away is not believed: a forged answer must not make the client sign for another year. */
const FARTHEST_OFFSET = 86_400;

/** Unix seconds. */
export const machineClock = (): number => Math.floor(Date.now() / 1000);

/** How far the service's clock is ahead of this machine's, as far as refusals told it. */
export class ServiceClock {
  #offset = 0;

  /** Seconds to add to {@link machineClock}. */
  get offset(): number {
    return this.#offset;
  }

  /** Takes the time that a refused timestamp tells. @returns false when there is none, or one that is not to be believed */
  take(answer: WireAnswer): boolean {
    const told = clockOf(answer);
    if (told === undefined) return false;
    const offset = told - machineClock();
    if (Math.abs(offset) > FARTHEST_OFFSET) return false;
    this.#offset = offset;
    return true;
  }

  /** Goes back to this machine's clock when a try with `offset` was refused for it, unless another call has learned another one since. */
  doubt(answer: WireAnswer, offset: number): void {
    if (this.#offset === offset && blamesTheTime(answer)) this.#offset = 0;
  }
}
