import type { Post } from "../deliveries/acts/post.ts";
import type { Chance } from "../machine/chance.ts";
import type { Scheduler } from "../machine/scheduler.ts";
import type { Change } from "../platform/database.ts";
import type { Call } from "./call.ts";
import type { Home } from "./cloud/home.ts";
import type { World } from "./world.ts";

/** Something that the world has seen of a call or of a post. A commit without a call is one by hand. */
export type Happening =
  | { kind: "arrives" | "answers" | "ends"; call: Call }
  | { kind: "commits"; call: Call | undefined; home: Home; changes: readonly Change[] }
  | { kind: "posts" | "hears" | "misses"; post: Post };

/** A call of a database on its way: there, so that nothing is done yet, or back, so that nobody knows it is done. */
export interface OnItsWay {
  way: "there" | "back";
  call: Call;
  home: string;
  /** "batch", or the method of a statement. */
  method: string;
  /** Which of the call's trips to this home it is; the first is 1. */
  nth: number;
}

interface Toll {
  fits: (trip: OnItsWay) => boolean;
  keepsAll: boolean;
  kept: (() => void)[];
  caught: () => void;
}

/** Lets actors act at one moment of a call: all of it happens in the same turn, and takes no chance. */
export class Moments {
  readonly #scheduler: Scheduler;
  readonly #watching = new Set<(happening: Happening) => void>();
  readonly #tolls = new Set<Toll>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  tell(happening: Happening): void {
    for (const watch of [...this.#watching]) watch(happening);
  }

  /** Calls `watch` at each happening until the end of the run. */
  always(watch: (happening: Happening) => void): void {
    this.#watching.add(watch);
  }

  /**
   * Waits for the first happening for which `look` returns something. What `look` does itself is done in the same turn.
   *
   * @param patienceMs milliseconds of virtual time
   * @returns undefined when nothing fits for so long
   */
  when<Seen>(look: (happening: Happening) => Seen | undefined, patienceMs = 600_000): Promise<Seen | undefined> {
    return new Promise((resolve) => {
      const end = (seen: Seen | undefined) => {
        cancel();
        this.#watching.delete(watch);
        resolve(seen);
      };
      const cancel = this.#scheduler.after(patienceMs, () => end(undefined));
      const watch = (happening: Happening) => {
        const seen = look(happening);
        if (seen !== undefined) end(seen);
      };
      this.#watching.add(watch);
    });
  }

  /** The next call that reaches an isolate and fits. */
  whenArrives(fits: (call: Call) => boolean, patienceMs?: number): Promise<Call | undefined> {
    return this.when((each) => (each.kind === "arrives" && fits(each.call) ? each.call : undefined), patienceMs);
  }

  /**
   * Keeps the first call of a database that fits, or all of them, until it is let go.
   *
   * @returns `caught` resolves when there is one; `letGo` lets go what is kept, and keeps nothing more
   */
  keep(fits: (trip: OnItsWay) => boolean, keepsAll = false): { caught: Promise<void>; letGo: () => void } {
    const { promise: caught, resolve } = Promise.withResolvers<void>();
    const toll: Toll = { fits, keepsAll, kept: [], caught: resolve };
    this.#tolls.add(toll);
    const letGo = () => {
      this.#tolls.delete(toll);
      for (const go of toll.kept.splice(0)) go();
    };
    return { caught, letGo };
  }

  /** Goes on at once, unless somebody keeps it. @returns whether it goes on */
  pass(trip: OnItsWay, go: () => void): boolean {
    const toll = [...this.#tolls].find(({ fits, kept, keepsAll }) => (keepsAll || kept.length === 0) && fits(trip));
    if (toll === undefined) go();
    else toll.kept.push(go);
    toll?.caught();
    return toll === undefined;
  }
}

/** Milliseconds in which a call comes to its next question: the way from D1 and the way to it. */
const NEXT_MS = 60;
/** The most steps that a call does while the others wait: all of another call may come between two steps. */
const MOST_STEPS = 5;

/**
 * Makes the gate of calls that go to D1 one question at a time, in an order that chance draws. So each order of their
 * transactions comes about.
 */
export function oneAtATime({ scheduler }: World, chance: Chance): (call: Call) => Promise<void> {
  const waiting = new Map<Call, () => void>();
  const known = new Set<Call>();
  let [turn, steps]: [Call | undefined, number] = [undefined, 0];
  const next = () => {
    const goesOn = turn !== undefined && waiting.has(turn) && steps > 0;
    if (!goesOn) [turn, steps] = [chance.one([...waiting.keys()]), chance.integer(1, MOST_STEPS)];
    steps--;
    waiting.get(turn as Call)?.();
    waiting.delete(turn as Call);
    if (waiting.size > 0) scheduler.after(NEXT_MS, next);
  };
  return (call) =>
    new Promise((resolve) => {
      if (waiting.size === 0) scheduler.after(NEXT_MS, next);
      if (!known.has(call)) steps = 0;
      known.add(call);
      waiting.set(call, resolve);
    });
}
