import { AsyncLocalStorage } from "node:async_hooks";

/** A turn in the future: an answer that arrives, a timer that fires, an actor who wakes. */
interface TaskTurn {
  /** Milliseconds of virtual time. */
  at: number;
  run: () => void;
}

/** Times are rounded to microseconds, so that sums of delays are the same on every machine. */
const round = (milliseconds: number): number => Math.round(milliseconds * 1000) / 1000;

/** Waits until all promises have settled, which is soon because no part of the simulation does real I/O. */
const microtasksDone = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Virtual time, and the one queue that decides what happens next. One turn is one step; no time passes between two
 * turns. Turns at the same time run in the order in which they were scheduled: only the delays are random.
 */
export class Scheduler {
  /** Milliseconds since the start. */
  now = 0;
  /** Turns so far. */
  steps = 0;
  readonly #turns: TaskTurn[] = [];
  readonly #atRest: (() => void)[] = [];

  /** Schedules a turn after `delay` milliseconds. @returns the function that cancels it */
  after(delay: number, run: () => void): () => void {
    const turn: TaskTurn = { at: round(this.now + Math.max(0, delay)), run };
    this.#turns.splice(this.#placeOf(turn), 0, turn);
    return () => {
      const place = this.#turns.indexOf(turn);
      if (place >= 0) this.#turns.splice(place, 1);
    };
  }

  sleep(delay: number): Promise<void> {
    return new Promise((resolve) => void this.after(delay, resolve));
  }

  /** Runs the next turn. @returns false when no turn is left */
  async step(): Promise<boolean> {
    const turn = this.#turns.pop();
    if (turn === undefined) return false;
    this.now = turn.at;
    this.steps++;
    turn.run();
    await microtasksDone();
    while (this.#atRest.length > 0) {
      for (const run of this.#atRest.splice(0)) run();
      await microtasksDone();
    }
    return true;
  }

  /** Runs a function once in this turn, after all promises have settled. */
  atRest(run: () => void): void {
    this.#atRest.push(run);
  }

  /** The time of the next turn; undefined when no turn is left. */
  get nextAt(): number | undefined {
    return this.#turns.at(-1)?.at;
  }

  /** Where a turn belongs in the queue. The queue is sorted backwards: the next turn is its last element. */
  #placeOf({ at }: TaskTurn): number {
    let low = 0;
    let high = this.#turns.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#turns[middle] as TaskTurn).at > at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * The owner of running work: a request of the Worker with everything that it started. It ends when its isolate dies or
 * the platform cuts it off.
 */
export interface Task {
  readonly name: string;
  alive: boolean;
}

const current = new AsyncLocalStorage<Task>();

export const currentTask = <T extends Task>(): T | undefined => current.getStore() as T | undefined;

/** Runs a function as part of a task. Everything that it starts belongs to the task too. */
export const runAs = <T>(task: Task, run: () => T): T => current.run(task, run);
