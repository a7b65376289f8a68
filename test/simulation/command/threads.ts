import { join } from "node:path";
import { inspect } from "node:util";
import { Worker } from "node:worker_threads";
import type { Code } from "../bundle.ts";
import type { RunOptions, RunResult } from "../run.ts";
import type { Job, Message, WorkerData } from "./seed-worker.ts";

/** The simulation itself threw, so the run proves nothing about the promises. */
export class BrokenRun extends Error {
  override readonly name = "BrokenRun";
}

/** The command was interrupted before the seed had ended. */
export class StoppedRun extends Error {
  override readonly name = "Stopped";
}

/**
 * A thread that runs one seed at a time. It starts with its first seed, and starts again after a seed that broke it.
 */
export class SeedThread {
  readonly #program: WorkerData;
  readonly #stop: AbortSignal;
  #worker: Worker | undefined;
  #code: Code | undefined;
  #receive: (message: Message) => void = () => {};
  /** The error that broke the thread between two seeds. */
  #failure: string | undefined;

  /** @param stop drops the seed in flight */
  constructor(program: WorkerData, stop: AbortSignal) {
    this.#program = program;
    this.#stop = stop;
    stop.addEventListener("abort", () => void this.close());
  }

  /**
   * @throws BrokenRun when the simulation throws
   * @throws Stopped when it is stopped before the seed has ended
   */
  run(code: Code, { seed, steps, trace }: RunOptions): Promise<RunResult> {
    return new Promise<RunResult>((resolve, reject) => {
      this.#receive = (message) => {
        if ("lines" in message) for (const line of message.lines) trace?.(line);
        else if ("result" in message) resolve(message.result);
        else if (this.#stop.aborted) reject(new StoppedRun());
        else reject(new BrokenRun(`The simulation itself broke at seed ${seed}: ${message.broken}`));
      };
      if (this.#stop.aborted || this.#failure !== undefined) return this.#receive({ broken: this.#failure ?? "" });
      this.#worker ??= this.#startWorker();
      this.#worker.postMessage({
        ...(code !== this.#code && { code }),
        seed,
        steps,
        isTraced: trace !== undefined,
      } satisfies Job);
      this.#code = code;
    });
  }

  #startWorker(): Worker {
    const worker = new Worker(join(import.meta.dirname, "seed-worker.ts"), { workerData: this.#program });
    worker.on("message", (message: Message) => this.#receive(message));
    worker.on("error", (error) => {
      this.#failure = inspect(error);
    });
    worker.on("exit", () => {
      this.#worker = undefined;
      this.#code = undefined;
      this.#receive({ broken: this.#failure ?? "its thread ended" });
    });
    return worker;
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }
}

/**
 * Works on the items in their order, as many at the same time as there are threads. After an error no further item
 * begins.
 *
 * @param work gets a thread, the item, and its index
 * @throws the first error of `work`, when all running items have ended; nothing when the command was stopped
 */
export async function inThreads<Item>(
  items: Iterable<Item>,
  { threads, program, stop }: { threads: number; program: WorkerData; stop: AbortSignal },
  work: (thread: SeedThread, item: Item, place: number) => Promise<void>,
): Promise<void> {
  const next = items[Symbol.iterator]();
  let places = 0;
  let hasFailed = false;
  const lane = async () => {
    const thread = new SeedThread(program, stop);
    try {
      for (let item = next.next(); item.done !== true; item = next.next()) {
        await work(thread, item.value, places++);
        if (hasFailed || stop.aborted) return;
      }
    } catch (error) {
      hasFailed = true;
      if (!(error instanceof StoppedRun)) throw error;
    } finally {
      await thread.close();
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: threads }, lane));
  const failure = lanes.find((each) => each.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}
