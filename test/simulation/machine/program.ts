import type * as client from "../../../src/client/client.ts";
import type * as worker from "../../../src/worker.ts";
import type { Code } from "../bundle.ts";
import { refuseOtherProperties } from "../not-simulated.ts";
import type { Chance } from "./chance.ts";
import { currentTask, runAs, type Scheduler } from "./scheduler.ts";
import { subtle } from "./subtle.ts";

type ClientProgram = Pick<typeof client, "AgentSessionClient" | "AgentSessionError">;

/** A machine's clock, which may be ahead of virtual time or behind it. */
type Clock = Pick<DateConstructor, "now">;

/** Milliseconds since the epoch when every simulation starts. */
export const EPOCH = Date.UTC(2026, 0, 1);

const GLOBALS = [
  "globalThis",
  "Date",
  "Math",
  "crypto",
  "setTimeout",
  "clearTimeout",
  "performance",
  "fetch",
  "AbortSignal",
] as const;
/** Hidden globals of node: those that the Workers runtime lacks, and the console, because the world takes telemetry. */
const ABSENT = ["process", "Buffer", "require", "setImmediate", "setInterval", "self", "global", "console"] as const;

/** `fetch`, as the Worker calls it. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

type Start = (...globals: unknown[]) => unknown;

/**
 * Loads the code once. Each start is like a new process, with its own modules, clock and random numbers. So isolates
 * share no state of a module. No global gives the code the machine's clock, randomness or network.
 */
export class ProgramImage {
  readonly #worker: Start;
  readonly #client: Start;

  constructor({ worker, client }: Code) {
    this.#worker = new Function(...GLOBALS, ...ABSENT, worker) as Start;
    this.#client = new Function(...GLOBALS, ...ABSENT, client) as Start;
  }

  startWorker(scheduler: Scheduler, clock: Clock, chance: Chance, fetch: Fetch = noFetch): typeof worker {
    return this.#worker(...globalsOf(scheduler, clock, chance, fetch)) as typeof worker;
  }

  startClient(scheduler: Scheduler, clock: Clock, chance: Chance): ClientProgram {
    return this.#client(...globalsOf(scheduler, clock, chance)) as ClientProgram;
  }
}

const noFetch: Fetch = () => {
  throw new Error("the simulation has no network but its own");
};

function globalsOf(scheduler: Scheduler, clock: Clock, chance: Chance, fetch = noFetch): unknown[] {
  const ownGlobals: Record<Exclude<(typeof GLOBALS)[number], "globalThis">, unknown> = {
    Date: dateOf(clock),
    Math: Object.assign(Object.create(Math), { random: () => chance.number() }),
    crypto: cryptoOf(chance),
    ...timersOf(scheduler),
    performance: { now: () => scheduler.now },
    fetch,
    AbortSignal: signalOf(scheduler),
  };
  const shadow = { ...ownGlobals, ...Object.fromEntries(ABSENT.map((name) => [name, undefined])) };
  const facade = Object.create(globalThis, Object.getOwnPropertyDescriptors(shadow)) as object;
  // Values that a library keeps in globalThis stay in this process.
  const globals = { ...ownGlobals, globalThis: facade };
  return [...GLOBALS.map((name) => globals[name]), ...ABSENT.map(() => undefined)];
}

function dateOf(clock: Clock): typeof Date {
  return class VirtualDate extends Date {
    constructor(...args: [] | [number]) {
      super(...((args.length === 0 ? [clock.now()] : args) as [number]));
    }
    static override now() {
      return clock.now();
    }
  } as typeof Date;
}

const cryptoOf = (chance: Chance) => ({
  subtle: refuseOtherProperties("WebCrypto", subtle),
  randomUUID: () => chance.uuid(),
  getRandomValues<T extends Uint8Array>(bytes: T): T {
    bytes.set(chance.bytes(bytes.length));
    return bytes;
  },
});

function timersOf(scheduler: Scheduler) {
  const cancels = new Map<number, () => void>();
  let last = 0;
  return {
    setTimeout(callback: () => void, milliseconds = 0) {
      const id = ++last;
      cancels.set(id, after(scheduler, milliseconds, callback));
      return id;
    },
    clearTimeout(id: number) {
      cancels.get(id)?.();
      cancels.delete(id);
    },
  };
}

/** AbortSignal in virtual time. */
const signalOf = (scheduler: Scheduler) =>
  Object.assign(Object.create(AbortSignal), {
    timeout(milliseconds: number) {
      const controller = new AbortController();
      const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
      after(scheduler, milliseconds, () => controller.abort(reason));
      return controller.signal;
    },
  });

/** Starts a timer of the running task. It does not fire after the task has ended. */
export function after(scheduler: Scheduler, milliseconds: number, callback: () => void): () => void {
  const task = currentTask();
  return scheduler.after(milliseconds, () => {
    if (task === undefined) callback();
    else if (task.alive) runAs(task, callback);
  });
}
