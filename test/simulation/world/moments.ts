import type { Post } from "../deliveries/acts/post.ts";
import type { Chance } from "../machine/chance.ts";
import type { Scheduler } from "../machine/scheduler.ts";
import type { RowChange } from "../platform/database.ts";
import type { Call } from "./call.ts";
import type { Home } from "./cloud/home.ts";
import type { World } from "./world.ts";

/** An event of a call or of a post. A commit without a call comes from SQL by hand. */
export type MomentEvent =
  | { kind: "arrives" | "answers" | "ends"; call: Call }
  | { kind: "commits"; call: Call | undefined; home: Home; changes: readonly RowChange[] }
  | { kind: "posts" | "hears" | "misses"; post: Post };

/** A call of a database on its way: there, before it is done, or back, before the caller knows that it is done. */
export interface OnItsWay {
  way: "there" | "back";
  call: Call;
  home: string;
  /** "batch", or the method of a statement. */
  method: string;
  /** Which of the call's trips to this home it is; the first is 1. */
  nth: number;
}

interface TripHold {
  fits: (trip: OnItsWay) => boolean;
  keepsAll: boolean;
  keptTrips: (() => void)[];
  onHold: () => void;
}

/** Lets actors act at a chosen moment of a call, in the same turn and without random numbers. */
export class Moments {
  readonly #scheduler: Scheduler;
  readonly #watchers = new Set<(happening: MomentEvent) => void>();
  readonly #holds = new Set<TripHold>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  tell(happening: MomentEvent): void {
    for (const watch of [...this.#watchers]) watch(happening);
  }

  /** Calls `watch` for each event until the end of the run. */
  always(watch: (happening: MomentEvent) => void): void {
    this.#watchers.add(watch);
  }

  /**
   * Waits for the first event for which `look` returns a value. `look` runs in the turn of the event.
   *
   * @param patienceMs milliseconds of virtual time
   * @returns undefined when nothing fits in this time
   */
  when<Seen>(look: (happening: MomentEvent) => Seen | undefined, patienceMs = 600_000): Promise<Seen | undefined> {
    return new Promise((resolve) => {
      const end = (result: Seen | undefined) => {
        cancel();
        this.#watchers.delete(watch);
        resolve(result);
      };
      const cancel = this.#scheduler.after(patienceMs, () => end(undefined));
      const watch = (happening: MomentEvent) => {
        const result = look(happening);
        if (result !== undefined) end(result);
      };
      this.#watchers.add(watch);
    });
  }

  /** The next call that reaches an isolate and fits. */
  whenArrives(fits: (call: Call) => boolean, patienceMs?: number): Promise<Call | undefined> {
    return this.when((each) => (each.kind === "arrives" && fits(each.call) ? each.call : undefined), patienceMs);
  }

  /**
   * Holds the first call of a database that fits, or all of them, until `letGo` is called.
   *
   * @returns `onHold` resolves when a call is held; `letGo` lets all held calls go on, and holds no more
   */
  keep(fits: (trip: OnItsWay) => boolean, keepsAll = false): { onHold: Promise<void>; letGo: () => void } {
    const { promise: onHold, resolve } = Promise.withResolvers<void>();
    const hold: TripHold = { fits, keepsAll, keptTrips: [], onHold: resolve };
    this.#holds.add(hold);
    const letGo = () => {
      this.#holds.delete(hold);
      for (const go of hold.keptTrips.splice(0)) go();
    };
    return { onHold, letGo };
  }

  /** Lets a trip go on at once, unless an actor holds it. @returns whether it goes on */
  pass(trip: OnItsWay, go: () => void): boolean {
    const hold = [...this.#holds].find(
      ({ fits, keptTrips, keepsAll }) => (keepsAll || keptTrips.length === 0) && fits(trip),
    );
    if (hold === undefined) go();
    else hold.keptTrips.push(go);
    hold?.onHold();
    return hold === undefined;
  }
}

/** Milliseconds until a call sends its next query: the way from D1 and back to it. */
const NEXT_MS = 60;
/** The most queries that one call sends while the other calls wait. A whole other call may come between two queries. */
const MOST_STEPS = 5;

/** Makes a gate that lets one query at a time go to D1, in a random order. So each order of transactions can happen. */
export function oneAtATime({ scheduler }: World, chance: Chance): (call: Call) => Promise<void> {
  const waiting = new Map<Call, () => void>();
  const knownCalls = new Set<Call>();
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
      if (!knownCalls.has(call)) steps = 0;
      knownCalls.add(call);
      waiting.set(call, resolve);
    });
}
