import { AsyncLocalStorage } from "node:async_hooks";

/** A turn that is to come: an answer that arrives, a timer that fires, an actor who wakes. */
interface Turn {
  /** Milliseconds of virtual time. */
  at: number;
  order: number;
  run: () => void;
}

/** All times are shown and compared in whole microseconds, so that sums of delays are the same everywhere. */
const rounded = (milliseconds: number): number => Math.round(milliseconds * 1000) / 1000;

/** After a turn, everything that can go on without I/O goes on: promises only, because no part of the simulation uses real I/O. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Virtual time, and the one queue that decides what happens next. One turn is one step; between two turns no time passes. What comes
 * at the same time comes in the order in which it was asked for: chance is in the delays.
 */
export class Scheduler {
  /** Milliseconds since the start. */
  now = 0;
  /** Turns so far. */
  steps = 0;
  readonly #turns: Turn[] = [];
  readonly #atRest: (() => void)[] = [];
  #order = 0;

  /** Runs something once, after `delay` milliseconds. @returns the function that cancels it */
  after(delay: number, run: () => void): () => void {
    const turn: Turn = { at: rounded(this.now + Math.max(0, delay)), order: this.#order++, run };
    this.#turns.splice(this.#placeOf(turn), 0, turn);
    return () => {
      const place = this.#turns.indexOf(turn);
      if (place >= 0) this.#turns.splice(place, 1);
    };
  }

  sleep(delay: number): Promise<void> {
    return new Promise((resolve) => void this.after(delay, resolve));
  }

  /** Takes the next turn. @returns false when nothing is left to come */
  async step(): Promise<boolean> {
    const turn = this.#turns.pop();
    if (turn === undefined) return false;
    this.now = turn.at;
    this.steps++;
    turn.run();
    await settled();
    while (this.#atRest.length > 0) {
      for (const run of this.#atRest.splice(0)) run();
      await settled();
    }
    return true;
  }

  /** Runs something once, in this turn, when everything has gone on that can go on without I/O. */
  atRest(run: () => void): void {
    this.#atRest.push(run);
  }

  /** The time of the next turn; undefined when nothing is left to come. */
  get nextAt(): number | undefined {
    return this.#turns.at(-1)?.at;
  }

  /** The queue is sorted backwards: the next turn is the last element. */
  #placeOf({ at, order }: Turn): number {
    let low = 0;
    let high = this.#turns.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#turns[middle] as Turn;
      if (other.at > at || (other.at === at && other.order > order)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Whose work runs: a request of the Worker, with all that it started. It ends when its isolate dies or the platform cuts it off. */
export interface Task {
  readonly name: string;
  alive: boolean;
}

const current = new AsyncLocalStorage<Task>();

export const currentTask = <T extends Task>(): T | undefined => current.getStore() as T | undefined;

/** Runs something as a part of a task; all that it starts belongs to the task too. */
export const runAs = <T>(task: Task, run: () => T): T => current.run(task, run);
