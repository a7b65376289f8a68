import type { Scheduler } from "../../machine/scheduler.ts";
import type { Database, Row } from "../../platform/database.ts";
import type { Call } from "../call.ts";
import { newDatabase } from "./new-database.ts";
import type { CloudWitness } from "./witness.ts";

/**
 * How a home treats calls. `slow` takes seconds for each, `refusing` fails at once, `silent` never answers. `stalled`
 * lets all calls wait, and they fail together when the state ends.
 */
type HomeState = "up" | "slow" | "refusing" | "silent" | "stalled";

/** Milliseconds that a batch keeps the database busy. It runs one batch at a time. */
const SERVICE_MS = 0.4;

export const RESTARTED = "D1_ERROR: D1 DB reset because its code was updated.";

/** One D1 database: it runs one transaction after another, and can go down, restart and be restored. */
export class Home {
  readonly name: string;
  readonly database: Database;
  #state: HomeState = "up";
  /** What to do with each call that waits for the end of a stall. */
  readonly waiting: (() => void)[] = [];
  /** Called for each session that a call has made. */
  onSession: (session: Row) => void = () => {};
  readonly #scheduler: Scheduler;
  #freeAt = 0;
  #restarts = 0;
  /** Milliseconds of virtual time. */
  restartedAt = Number.NEGATIVE_INFINITY;
  /** How many transactions it has run. */
  turn = 0;
  #working: Call | undefined;

  constructor(name: string, scheduler: Scheduler, witness: CloudWitness) {
    this.name = name;
    this.database = newDatabase();
    this.#scheduler = scheduler;
    this.database.onCommit = (changes) => {
      witness.commits(this, this.#working, changes);
      const newSession = changes.find(({ table, before }) => table === "sessions" && before === null)?.after ?? null;
      if (newSession !== null) this.onSession(newSession);
    };
  }

  get state(): HomeState {
    return this.#state;
  }

  set state(state: HomeState) {
    this.#state = state;
    if (state !== "stalled") for (const reset of this.waiting.splice(0)) reset();
  }

  /**
   * Runs a call's work when its turn comes. `fail` gets the error of the work, or the error of a restart before its
   * turn.
   */
  take<T>(call: Call | undefined, work: () => T, finish: (result: T) => void, fail: (error: unknown) => void): void {
    const restarts = this.#restarts;
    this.#freeAt = Math.max(this.#scheduler.now, this.#freeAt) + SERVICE_MS;
    this.#scheduler.after(this.#freeAt - this.#scheduler.now, () => {
      if (restarts !== this.#restarts) {
        fail(new Error(RESTARTED));
        return;
      }
      this.turn++;
      this.#working = call;
      try {
        finish(work());
      } catch (error) {
        fail(error);
      } finally {
        this.#working = undefined;
      }
    });
  }

  /** Drops all work that waits for its turn. */
  restart(): void {
    this.#restarts++;
    this.#freeAt = this.restartedAt = this.#scheduler.now;
  }
}
